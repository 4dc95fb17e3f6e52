// Actors that the prompt is made of.

import Atk from 'gi://Atk';
import Clutter from 'gi://Clutter';
import Pango from 'gi://Pango';
import St from 'gi://St';

import * as CheckBox from 'resource:///org/gnome/shell/ui/checkBox.js';
import * as PopupMenu from 'resource:///org/gnome/shell/ui/popupMenu.js';

/** St.BoxLayout has another property for it since GNOME 48. */
export function column(properties, ...children) {
    const box = new St.BoxLayout({x_expand: true, ...properties});
    box.layout_manager.orientation = Clutter.Orientation.VERTICAL;
    for (const child of children)
        box.add_child(child);
    return box;
}

export function row(properties, ...children) {
    const box = new St.BoxLayout({x_expand: true, ...properties});
    for (const child of children)
        box.add_child(child);
    return box;
}

/** A text that wraps; never markup. */
export function label(text, styleClass = null) {
    const made = new St.Label({text, style_class: styleClass, x_expand: true});
    made.clutter_text.set({
        line_wrap: true,
        line_wrap_mode: Pango.WrapMode.WORD_CHAR,
        ellipsize: Pango.EllipsizeMode.NONE,
    });
    return made;
}

/** A text that is less important; the theme has no colour for it, light and dark. */
export function caption(text, styleClass = '') {
    const made = label(text, `permd-caption ${styleClass}`);
    made.opacity = 180;
    return made;
}

/** What a screen reader says after the name. */
export function describe(actor, text) {
    const accessible = actor.get_accessible();
    if (accessible)
        accessible.accessible_description = text;
}

/** The label of a button wraps: translations are longer. */
export function button(text, styleClass, description, action) {
    const text_ = label(text);
    text_.x_align = Clutter.ActorAlign.CENTER;
    const made = new St.Button({
        style_class: styleClass,
        child: text_,
        label_actor: text_,
        accessible_name: text,
        can_focus: true,
        x_expand: true,
    });
    describe(made, description);
    made.connect('clicked', action);
    return made;
}

/** A flat button that shows and hides something. */
export function disclosure(text, onToggle) {
    const arrow = new St.Icon({icon_name: 'pan-end-symbolic', style_class: 'permd-arrow'});
    const text_ = new St.Label({text, y_align: Clutter.ActorAlign.CENTER});
    const made = new St.Button({
        style_class: 'button flat permd-flat',
        child: row({x_expand: false, style_class: 'permd-disclosure'}, text_, arrow),
        accessible_name: text,
        accessible_role: Atk.Role.TOGGLE_BUTTON,
        toggle_mode: true,
        can_focus: true,
    });
    made.connect('notify::checked', () => {
        arrow.icon_name = made.checked ? 'pan-down-symbolic' : 'pan-end-symbolic';
        onToggle(made.checked);
    });
    return made;
}

/** Changes the text of such a button. */
export function rename(button, text) {
    button.accessible_name = text;
    button.child.get_first_child().text = text;
}

/** A row with a switch that is on at first, and may be pressed anywhere. */
export function switchRow(content, name, onToggle) {
    const toggle = new PopupMenu.Switch(true);
    toggle.reactive = false;
    content.add_child(toggle);
    const made = new St.Button({
        style_class: 'permd-row permd-switch',
        child: content,
        accessible_name: name,
        accessible_role: Atk.Role.TOGGLE_BUTTON,
        toggle_mode: true,
        checked: true,
        can_focus: true,
        x_expand: true,
    });
    made.connect('notify::checked', () => {
        toggle.state = made.checked;
        onToggle(made.checked);
    });
    return made;
}

/** A choice of a portal: a checkbox, or options of which one is selected. */
export function choice({label: text, options, initial}, onSelect) {
    if (options.length === 0)
        return checkBox(text, initial === 'true', checked => onSelect(checked ? 'true' : 'false'));
    const boxes = options.map(option => {
        const box = checkBox(option.label, option.id === initial, checked => {
            if (!checked && boxes.every(other => !other.checked)) {
                box.checked = true;
            } else if (checked) {
                for (const other of boxes.filter(other => other !== box))
                    other.checked = false;
                onSelect(option.id);
            }
        });
        box.accessible_role = Atk.Role.RADIO_BUTTON;
        return box;
    });
    return column({style_class: 'permd-choice'}, caption(text), ...boxes);
}

function checkBox(text, isChecked, onToggle) {
    const box = new CheckBox.CheckBox(text);
    box.checked = isChecked;
    box.set({x_expand: true, x_align: Clutter.ActorAlign.START});
    box.connect('notify::checked', () => onToggle(box.checked));
    return box;
}

/** Scrolls only up and down. */
export function scrolling(content) {
    const scroll = new St.ScrollView({
        style_class: 'vfade permd-scroll',
        hscrollbar_policy: St.PolicyType.NEVER,
        vscrollbar_policy: St.PolicyType.AUTOMATIC,
        x_expand: true,
    });
    // GNOME 45 has no other way for what scrolls.
    if (scroll.add_actor)
        scroll.add_actor(content);
    else
        scroll.child = content;
    return scroll;
}
