// Functions for tests in GNOME Shell's own process, evaluated once by org.gnome.Shell.Eval.
{
    const {Clutter, GLib} = imports.gi;
    const seat = global.stage.context.get_backend().get_default_seat();
    const pointer = seat.create_virtual_device(Clutter.InputDeviceType.POINTER_DEVICE);
    // In GNOME 50, the first motion has one coordinate only: a click there would be at another place.
    for (let time = 0; time < 2; time++)
        pointer.notify_absolute_motion(GLib.get_monotonic_time(), 640, 790);
    let keyboard = null;
    let screen = null;
    const walk = actor => [actor, ...actor.get_children().flatMap(walk)];
    const plain = text => (text ?? '').replace(/[\u2068\u2069]/g, '');
    const nameOf = actor => plain(actor.accessible_name || actor.label_actor?.text || actor.text || actor.title || actor.label);

    globalThis.permdTest = {
        /** The prompt on the stage; undefined without one. */
        prompt: () => Main.layoutManager.modalDialogGroup.get_children()
            .find(child => child.visible && child.dialogLayout?._dialog?.has_style_class_name('permd-prompt')),

        isAwake: () => permdTest.prompt()?._inputDelay.isAwake ?? false,

        texts: () => permdTest.prompt()
            ? walk(permdTest.prompt()).filter(actor => actor.mapped && actor.text).map(actor => plain(actor.text)) : [],

        /** Where the dialog is on the stage, and the stage's children above all windows. */
        place: () => {
            const dialog = permdTest.prompt().dialogLayout._dialog;
            return [...dialog.get_transformed_position(), ...dialog.get_transformed_size()];
        },

        /** Where the first visible actor of that name is on the stage. */
        find: name => {
            const actor = walk(global.stage).find(child => child.mapped && child.reactive && nameOf(child) === name);
            const place = actor ? [...actor.get_transformed_position(), ...actor.get_transformed_size()] : [];
            // It may not have been laid out yet.
            return place.every(Number.isFinite) ? place : [];
        },

        /** The titles of the windows on the screen. */
        titles: () => global.get_window_actors().map(({meta_window: window}) => window.title ?? ''),

        /** Where the window of that title is; empty if it is not above all others. */
        top: title => {
            const window = global.get_window_actors().at(-1)?.meta_window;
            const {x, y, width, height} = window?.get_frame_rect() ?? {};
            return window?.title === title ? [x, y, width, height] : [];
        },

        checked: name => walk(global.stage).find(child => child.mapped && nameOf(child) === name)?.checked,

        focused: () => nameOf(global.stage.key_focus ?? {}),

        move: (x, y) => pointer.notify_absolute_motion(GLib.get_monotonic_time(), x, y),

        click: () => {
            pointer.notify_button(GLib.get_monotonic_time(), Clutter.BUTTON_PRIMARY, Clutter.ButtonState.PRESSED);
            pointer.notify_button(GLib.get_monotonic_time(), Clutter.BUTTON_PRIMARY, Clutter.ButtonState.RELEASED);
        },

        tap: (x, y) => {
            screen ??= seat.create_virtual_device(Clutter.InputDeviceType.TOUCHSCREEN_DEVICE);
            screen.notify_touch_down(GLib.get_monotonic_time(), 0, x, y);
            screen.notify_touch_up(GLib.get_monotonic_time(), 0);
        },

        addKeyboard: () => (keyboard = seat.create_virtual_device(Clutter.InputDeviceType.KEYBOARD_DEVICE)),

        press: (key, isPressed) => keyboard.notify_keyval(GLib.get_monotonic_time(), key,
            isPressed ? Clutter.KeyState.PRESSED : Clutter.KeyState.RELEASED),

        type: keys => {
            for (const key of keys) {
                permdTest.press(key, true);
                permdTest.press(key, false);
            }
        },

        /** Types as a person does, a key after the other. */
        typeOn: keys => {
            permdTest.isTyping = true;
            GLib.timeout_add(GLib.PRIORITY_DEFAULT, 40, () => {
                permdTest.type(keys.splice(0, 1));
                permdTest.isTyping = keys.length > 0;
                return permdTest.isTyping;
            });
        },

        /** Presses something when the prompt comes, and notes what it then shows. */
        atPrompt: press => {
            permdTest.seen = [];
            let isPressed = false;
            GLib.timeout_add(GLib.PRIORITY_DEFAULT, 10, () => {
                if (!permdTest.prompt())
                    return GLib.SOURCE_CONTINUE;
                if (isPressed) {
                    permdTest.seen = [permdTest.isAwake() ? 'awake' : 'asleep', ...permdTest.texts()];
                    return GLib.SOURCE_REMOVE;
                }
                press();
                isPressed = true;
                return GLib.SOURCE_CONTINUE;
            });
        },
    };
}
