// A prompt as a dialog of the shell. Its question and its answers are always visible as a whole; what is between them may
// scroll.

import Clutter from 'gi://Clutter';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Shell from 'gi://Shell';
import St from 'gi://St';

import {gettext as _} from 'resource:///org/gnome/shell/extensions/extension.js';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';
import * as ModalDialog from 'resource:///org/gnome/shell/ui/modalDialog.js';
import {ensureActorVisibleInScrollView} from 'resource:///org/gnome/shell/misc/animationUtils.js';

import {InputDelay} from './inputDelay.js';
import {installedApp, monitorOf} from './place.js';
import * as Texts from './texts.js';
import * as Widgets from './widgets.js';

const HOUR = 3600;
/** Pixels. */
const ICON_SIZE = 64;
const LEAST_MIDDLE = 100;

/**
 * Emits `answered` once, when a person has answered; `outcome` and `decisions` are the answer then. Emits `failed` with the
 * reason if it cannot keep presses from it that are meant for something else.
 */
export const PromptDialog = GObject.registerClass({
    Signals: {'answered': {}, 'failed': {param_types: [GObject.TYPE_STRING]}},
}, class PromptDialog extends ModalDialog.ModalDialog {
    _init(prompt, daemon) {
        super._init({styleClass: 'permd-prompt', destroyOnClose: true});
        this._prompt = prompt;
        this._daemon = daemon;
        /** The permissions that are switched off. */
        this._off = new Set();
        /** The selected options of a portal's choices, by their IDs, of each permission. */
        this._selections = new Map(prompt.items.map(item =>
            [item.permission, Object.fromEntries(item.choices.map(({id, initial}) => [id, initial]))]));
        this._grants = [];
        /** By permission, what names another device. */
        this._devices = new Map();
        this._inputDelay = new InputDelay();
        this._inputDelay.connectObject('awake', () => this._sync(), 'asleep', () => this._sync(), this);
        this._addQuestion();
        this._addMiddle();
        this._addAnswers();
        this.buttonLayout.hide();
        this.setInitialKeyFocus(this._question);
        this.showBehind(prompt.behind);
        this.connect('opened', () => this._inputDelay.arm());
        this._failing = null;
        this.connect('destroy', () => {
            this._inputDelay.disarm();
            if (this._failing)
                GLib.source_remove(this._failing);
        });
        this._sync();
    }

    // The place and the end

    open() {
        if (!super.open())
            return false;
        this._inputDelay.arm();
        const monitor = monitorOf(this._prompt);
        if (monitor >= 0)
            this._monitorConstraint.index = monitor;
        this._fit();
        return true;
    }

    /** Takes less room if little of what may scroll would be visible, on a small screen or with large text. */
    _fit() {
        const screen = Main.layoutManager.monitors[this._monitorConstraint.index];
        const [least, natural] = this.dialogLayout.get_preferred_height(-1);
        if (!screen || Math.min(natural, least + LEAST_MIDDLE) <= screen.height)
            return;
        this._icon.hide();
        this.dialogLayout.get_first_child().add_style_class_name('permd-small');
    }

    /** Removes the dialog at once, without an answer. */
    end() {
        this._inputDelay.disarm();
        this._shouldFadeOut = false;
        if (this.state === ModalDialog.State.CLOSED)
            this.destroy();
        else
            this.close();
    }

    vfunc_captured_event(event) {
        try {
            return this._takes(event) ? Clutter.EVENT_STOP : Clutter.EVENT_PROPAGATE;
        } catch (error) {
            // Later, since the event is on its way through the dialog, which this ends.
            this._failing ??= GLib.idle_add(GLib.PRIORITY_HIGH, () => {
                this._failing = null;
                this.emit('failed', error.message);
                return GLib.SOURCE_REMOVE;
            });
            return Clutter.EVENT_STOP;
        }
    }

    /** Returns whether the event must go no further. */
    _takes(event) {
        // Until GNOME 50, a dialog passes on what is for the screen keyboard.
        if (Main.keyboard.maybeHandleEvent?.(event) || this._inputDelay.stops(event))
            return true;
        if (event.type() !== Clutter.EventType.KEY_PRESS)
            return false;
        switch (event.get_key_symbol()) {
        case Clutter.KEY_Escape:
            this._give('dismissed', {});
            return true;
        case Clutter.KEY_Page_Up:
        case Clutter.KEY_Page_Down:
            this._scroll(event.get_key_symbol() === Clutter.KEY_Page_Up ? -1 : 1);
            return true;
        default:
            return false;
        }
    }

    _scroll(pages) {
        const {vadjustment} = this._middle;
        vadjustment.value += pages * vadjustment.page_increment;
    }

    // What is asked

    _addQuestion() {
        this._icon = new St.Icon({
            gicon: iconOf(this._prompt),
            fallback_icon_name: 'application-x-executable',
            icon_size: ICON_SIZE,
            x_align: Clutter.ActorAlign.CENTER,
        });
        this._question = Widgets.label(Texts.heading(this._prompt), 'message-dialog-title permd-question');
        // The focus is here at first: on something that a key does nothing with.
        this._question.can_focus = true;
        this.dialogLayout.label_actor = this._question;
        this.accessible_name = _('Permission request');
        Widgets.describe(this._question, this._spoken());
        this.contentLayout.add_child(this._icon);
        this.contentLayout.add_child(this._question);
    }

    /** What a screen reader says after the question: what the app says, which the focus does not come to. */
    _spoken() {
        const {explanation, items} = this._prompt;
        const words = explanation ? [Texts.says(), explanation.title, explanation.body] : [];
        return [...new Set([...words, ...items.map(Texts.reason)])].filter(text => text).join(' ');
    }

    _addMiddle() {
        const {explanation, items} = this._prompt;
        const content = Widgets.column({style_class: 'permd-middle'});
        this._middle = Widgets.scrolling(content);
        this.contentLayout.add_child(this._middle);
        if (explanation) {
            content.add_child(Widgets.column({style_class: 'permd-card permd-words'},
                Widgets.caption(Texts.says()),
                Widgets.label(explanation.title, 'permd-strong'), Widgets.label(explanation.body)));
        }
        const {common, missing, each} = Texts.reasons(this._prompt);
        if (common || missing)
            content.add_child(common ? Widgets.label(common, 'permd-reason') : Widgets.caption(missing, 'permd-reason'));
        const card = Widgets.column({style_class: 'permd-card'});
        items.forEach((item, index) => this._addItem(item, each[index], card));
        if (card.get_n_children() > 0)
            content.add_child(card);
        this._addDetails(content);
        const pause = Texts.pause(this._prompt);
        if (pause)
            content.add_child(Widgets.caption(pause, 'permd-reason'));
    }

    _addItem(item, reason, card) {
        const {permission, isOfPortal} = item;
        const device = Texts.device(item);
        const hasSwitch = this._prompt.items.length > 1;
        if (!isOfPortal && (hasSwitch || device || reason)) {
            const name = Texts.permissionName(permission);
            const texts = Widgets.column({y_align: Clutter.ActorAlign.CENTER}, new St.Label({text: name}));
            for (const text of [device, reason].filter(words => words))
                texts.add_child(Widgets.caption(text));
            const content = Widgets.row({style_class: 'permd-row-content'},
                new St.Icon({icon_name: Texts.ICONS[permission], style_class: 'permd-kind'}), texts);
            const spoken = words => [name, words, reason].filter(part => part).join(', ');
            const row = hasSwitch
                ? this._watchFocus(Widgets.switchRow(content, spoken(device), isOn => this._turn(permission, isOn)))
                : new St.Bin({style_class: 'permd-row', child: content, x_expand: true});
            card.add_child(row);
            if (device) {
                this._devices.set(permission, () => {
                    const words = Texts.device(item);
                    texts.get_child_at_index(1).text = words;
                    row.accessible_name = spoken(words);
                });
            }
        } else if (reason) {
            card.add_child(Widgets.label(reason, 'permd-reason'));
        }
        for (const choice of item.choices) {
            const select = option => (this._selections.get(permission)[choice.id] = option);
            card.add_child(new St.Bin({style_class: 'permd-row', child: Widgets.choice(choice, select), x_expand: true}));
        }
    }

    _turn(permission, isOn) {
        if (isOn)
            this._off.delete(permission);
        else
            this._off.add(permission);
        this._sync();
    }

    _addDetails(content) {
        const box = Widgets.column({style_class: 'permd-card permd-words', visible: false});
        const button = Widgets.disclosure(_('Details'), isOpen => {
            if (box.get_n_children() === 0)
                this._fillDetails(box);
            box.visible = isOpen;
            this._inputDelay.moved();
        });
        button.x_align = Clutter.ActorAlign.CENTER;
        // The details come last, and permd's part of them later.
        const {vadjustment} = this._middle;
        vadjustment.connect('changed', () => {
            if (box.visible)
                vadjustment.value = vadjustment.upper - vadjustment.page_size;
        });
        content.add_child(this._watchFocus(button));
        content.add_child(box);
    }

    /** permd need not answer: the other details are there without it. */
    async _fillDetails(box) {
        for (const line of Texts.details(this._prompt))
            box.add_child(Widgets.caption(line));
        const hasWindow = Shell.AppSystem.get_default().lookup_app('org.permd.Settings.desktop') !== null;
        box.add_child(Widgets.caption(Texts.changeLater(this._prompt, hasWindow)));
        let isThere = true;
        box.connect('destroy', () => (isThere = false));
        try {
            const filter = {app: new GLib.Variant('s', this._prompt.app)};
            const [rows] = await this._daemon.call('org.permd.Policy1', 'ListDecisions',
                new GLib.Variant('(a{sv})', [filter]));
            if (!isThere)
                return;
            for (const line of Texts.earlier(rows, this._prompt))
                box.add_child(Widgets.caption(line));
            this._inputDelay.moved();
        } catch (error) {
            console.debug(`permd: ${error.message}`);
        }
    }

    /** What has the focus is scrolled to. */
    _watchFocus(actor) {
        actor.connect('key-focus-in', () => ensureActorVisibleInScrollView(this._middle, actor));
        return actor;
    }

    // The answers

    _addAnswers() {
        const box = Widgets.column({style_class: 'permd-answers'});
        this.contentLayout.add_child(box);
        const {items} = this._prompt;
        const label = (own, text) => (items.length === 1 && own) || text;
        const grants = this._prompt.durations;
        if (items.every(item => item.isOfPortal)) {
            // Its portal stores the answer.
            if (grants.length > 0)
                this._addGrant(box, grants[0], label(items[0].grantLabel, _('Allow')), '');
            this._addDenial(box, label(items[0].denyLabel, _("Don't allow")), '');
        } else {
            const buttons = grants.map(duration => this._addGrant(box, duration));
            // The shortest and the longest are shown at first.
            this._more = buttons.slice(1, -1);
            // A program that stands for any other is offered nothing longer.
            const isForThisTime = grants.length === 1 && grants[0] === 'once';
            this._addDenial(box, isForThisTime ? _("Don't allow this time") : _('Never allow'),
                Texts.grantDescription(isForThisTime ? 'once' : 'always'));
        }
        this._addLastRow(box);
        this._line = new St.Label({style_class: 'permd-caption permd-line', opacity: 180});
        box.add_child(this._line);
    }

    _addGrant(box, duration, text = Texts.grantLabel(duration), description = Texts.grantDescription(duration)) {
        const button = Widgets.button(text, 'button permd-answer', description,
            () => this._give('answered', this._granted(duration)));
        box.add_child(button);
        this._grants.push(button);
        return button;
    }

    _addDenial(box, text, description) {
        this._denial = Widgets.button(text, 'button permd-answer', description,
            () => this._give('answered', this._decided(() => true, 'deny', 'always')));
        box.add_child(this._denial);
    }

    _addLastRow(box) {
        this._notNow = Widgets.button(_('Not now'), 'button flat permd-flat', Texts.notNow(this._prompt),
            () => this._give('dismissed', {}));
        this._notNow.set({x_expand: true, x_align: Clutter.ActorAlign.START});
        const last = Widgets.row({style_class: 'permd-last'}, this._notNow);
        box.add_child(last);
        if (!this._more?.length)
            return;
        for (const button of this._more)
            button.visible = false;
        const more = Widgets.disclosure(_('More choices'), isOpen => {
            for (const button of this._more)
                button.visible = isOpen;
            Widgets.rename(more, isOpen ? _('Fewer choices') : _('More choices'));
            this._fit();
            this._inputDelay.moved();
        });
        last.add_child(more);
    }

    /** Names the devices that the app would get now. */
    showDevices(names) {
        for (const [permission, name] of names) {
            const item = this._prompt.items.find(each => each.permission === permission);
            if (!item?.deviceName || item.deviceName === name)
                continue;
            item.deviceName = name;
            this._devices.get(permission)();
            // It is another question now, and a longer name may have moved the buttons.
            this._inputDelay.arm();
            this._fit();
        }
    }

    /** One line, whatever waits: other apps could move the buttons under the pointer otherwise. */
    showBehind(waiting) {
        this._waiting = waiting;
        this._sync();
    }

    _sync() {
        const {isAwake} = this._inputDelay;
        const mayGrant = this._off.size < this._prompt.items.length;
        for (const button of this._grants)
            setSensitive(button, isAwake && mayGrant);
        setSensitive(this._denial, isAwake);
        setSensitive(this._notNow, isAwake);
        // The same line says why no answer counts yet, and then who is next.
        if (this._waiting)
            this._line.text = isAwake ? Texts.behind(this._waiting) || ' ' : _('One moment…');
    }

    _granted(duration) {
        return this._decided(({permission}) => !this._off.has(permission), 'grant', duration);
    }

    _decided(isMeant, decision, duration) {
        const decisions = {};
        for (const item of this._prompt.items.filter(isMeant)) {
            const values = {decision: new GLib.Variant('s', decision), duration: new GLib.Variant('s', duration)};
            if (duration === 'until')
                values.until = new GLib.Variant('t', Math.floor(Date.now() / 1000) + HOUR);
            if (item.choices.length > 0)
                values.choices = new GLib.Variant('a{ss}', this._selections.get(item.permission));
            decisions[item.permission] = values;
        }
        return decisions;
    }

    _give(outcome, decisions) {
        if (!this._inputDelay.isAwake || this.outcome)
            return;
        this.outcome = outcome;
        this.decisions = decisions;
        this._inputDelay.disarm();
        // Without animations, closing destroys the dialog.
        this.emit('answered');
        this.close();
    }
});

/** Insensitive buttons are so for assistive technology, too. */
function setSensitive(button, isSensitive) {
    button.reactive = isSensitive;
    button.can_focus = isSensitive;
}

/**
 * An icon that the shell shows elsewhere, too: that of the installed app, or one of the theme. A path may be the app's own,
 * and a crafted file must not be decoded here.
 */
function iconOf(prompt) {
    const name = prompt.icon && !prompt.icon.startsWith('/') ? prompt.icon : 'application-x-executable';
    return installedApp(prompt)?.get_icon() ?? new Gio.ThemedIcon({name});
}
