/**
 * The life of a draft while its editor is open, without React: when it is saved, and what happens if that fails.
 * Requests are sent one after the other, so that each knows the outcome of the one before.
 */
import type { Draft, Published } from './draft.ts';
import { faultText } from './fault-text.ts';
import { nameIn } from './field-names.ts';
import type { Choices } from './merging.ts';
import { isSame } from './same.ts';
import { isOutdated, isRefused, type SessionParts } from './session-parts.ts';
import { type KeptContent, type StoredDraft, Versions } from './versions.ts';

const SAVE_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 10_000;
const MAX_TRIES = 3;

type Send<Content> = (content: Content, etag: string) => Promise<Published<Content>>;

/** One editor's view of a draft. Call `start` before use. */
export class DraftSession<Content extends object> {
  private readonly versions: Versions<Content>;
  private readonly parts: SessionParts<Content>;
  private readonly listeners = new Set<() => void>();
  private isBusy = false;
  /** The editor is closed: what is under way is finished, and nothing more begins. */
  private isEnded = false;
  private isKept = true;
  private fault: string | null = null;
  /** The ETag of what is live when its publisher was asked for. */
  private askedFor: string | null = null;
  private isAsking = false;
  private stopTimer: (() => void) | null = null;
  private last: Promise<void> = Promise.resolve();
  private shown: Draft<Content>;

  /** @param stored the draft that the service has */
  constructor(
    published: Published<Content>,
    stored: StoredDraft<Content> | null,
    parts: SessionParts<Content>,
  ) {
    this.parts = parts;
    this.versions = new Versions(published, stored, parts.device.read(), parts.form);
    this.shown = this.present();
  }

  readonly snapshot = (): Draft<Content> => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Saves what was left unsaved when the editor was closed. */
  readonly start = (): void => {
    this.isEnded = false;
    this.update();
  };

  /**
   * Saves once more. What cannot be saved stays on this device for the next editor; if this one kept trying, it would
   * bring back what is discarded there.
   */
  readonly end = (): Promise<void> => {
    this.isEnded = true;
    return this.flush();
  };

  /** Whether something would be lost with the page. */
  readonly isAtRisk = (): boolean => this.versions.isUnsaved && !this.isKept;

  /** Takes over what is live now. */
  readonly seePublished = (published: Published<Content>): void => {
    if (published.etag === this.versions.published.etag) return;
    this.versions.seePublished(published);
    this.update();
  };

  /** Saves now what is unsaved. */
  readonly flush = (): Promise<void> => {
    this.stop();
    return this.versions.isUnsaved ? this.queue(() => this.save(MAX_TRIES)) : this.last;
  };

  /** Looks whether someone else changed the draft. */
  readonly check = (): Promise<void> =>
    this.queue(async () => {
      if (this.versions.difference) return;
      // The next save reports what is wrong.
      const stored = await this.parts.service.load().catch(() => undefined);
      if (stored !== undefined) this.see(stored);
    });

  private readonly change = (next: (content: Content) => Content): void => {
    const content = next(this.versions.content);
    if (content === this.versions.content) return;
    this.versions.change(content);
    this.fault = null;
    this.stop();
    this.update();
    // A discard can be undone after the editor was closed.
    if (this.isEnded) void this.flush();
  };

  private readonly discard = (): Promise<void> =>
    this.queue(async () => {
      this.stop();
      const { stored } = this.versions;
      try {
        if (stored) await this.parts.service.remove(stored.etag);
      } catch (error) {
        if (isOutdated(error)) this.versions.discarded(await this.parts.service.load());
        throw error;
      }
      this.fault = null;
      this.versions.discarded(null);
    });

  private readonly publish: Draft<Content>['publish'] = async (send, expected = this.versions.content) => {
    await this.flush();
    await this.queue(async () => {
      const { content, difference, isUnsaved } = this.versions;
      if (difference) throw new Error('Choose one of the two versions first.');
      if (isUnsaved && this.fault !== null) throw new Error(this.fault);
      // What someone else saved may be shown since.
      if (isUnsaved || content !== expected) {
        throw new Error('This has changed in the meantime. Review it, then publish it again.');
      }
      await this.sendAndEnd(send);
    });
  };

  private async sendAndEnd(send: Send<Content>): Promise<void> {
    const { content, base } = this.versions.kept();
    let published: Published<Content>;
    try {
      published = await send(content, base);
    } catch (error) {
      if (isOutdated(error)) this.parts.reloadPublished();
      throw error;
    }
    const { stored } = this.versions;
    this.versions.publishedAs(content, published, stored && (await this.endDraft(stored)));
    this.parts.reloadPublished();
  }

  /** @returns what is left: null, or a draft that someone else saved meanwhile */
  private async endDraft(stored: StoredDraft<Content>): Promise<StoredDraft<Content> | null> {
    try {
      await this.parts.service.remove(stored.etag);
      return null;
    } catch {
      // If it is still the same one, it is deleted once more, because it is equal to what is live.
      return this.parts.service.load().catch(() => stored);
    }
  }

  private async save(tries: number): Promise<void> {
    if (!this.versions.isUnsaved || this.versions.difference) return;
    const sent = this.versions.kept();
    try {
      this.versions.saved(sent, await this.store(sent));
      this.fault = null;
    } catch (error) {
      if (!isOutdated(error)) return this.postpone(error);
      this.see(await this.parts.service.load());
      if (tries > 1) await this.save(tries - 1);
    }
  }

  private async store(sent: KeptContent<Content>): Promise<StoredDraft<Content> | null> {
    if (!isSame(sent.content, this.versions.published.content)) return this.parts.service.save(sent);
    if (sent.over !== null) await this.parts.service.remove(sent.over);
    return null;
  }

  private postpone(error: unknown): void {
    this.fault = faultText(error, this.versions.content);
    if (!isRefused(error)) this.saveAfter(RETRY_AFTER_MS);
  }

  private see(stored: StoredDraft<Content> | null): void {
    const isGone = this.versions.stored !== null && stored === null;
    // It may have ended because it was published.
    if (isGone) this.parts.reloadPublished();
    if (this.versions.seeStored(stored) && !this.isEnded) this.parts.onReplaced(stored);
  }

  private readonly resolve = (choices: Choices): boolean => {
    const isResolved = this.versions.resolve(choices);
    this.update();
    if (isResolved) void this.flush();
    return isResolved;
  };

  private choose(which: 'keepMine' | 'takeTheirs'): void {
    this.versions[which]();
    this.update();
    void this.flush();
  }

  private saveAfter(ms: number): void {
    this.stop();
    if (this.isEnded) return;
    this.stopTimer = this.parts.wait(ms, () => void this.flush());
  }

  private stop(): void {
    this.stopTimer?.();
    this.stopTimer = null;
  }

  private queue(work: () => Promise<void>): Promise<void> {
    const run = async () => {
      this.isBusy = true;
      this.update();
      try {
        await work();
      } finally {
        this.isBusy = false;
        this.update();
      }
    };
    const result = this.last.then(run);
    this.last = result.catch(() => undefined);
    return result;
  }

  /** After anything changed: keeps what is unsaved on this device, plans to save it, and shows the new state. */
  private update(): void {
    const { versions } = this;
    if (!versions.isUnsaved) this.parts.device.clear();
    // The next editor may have taken what is on this device, and may have discarded it.
    else if (!this.isEnded) this.isKept = this.parts.device.write(versions.kept());
    const isDue = versions.isUnsaved && !versions.difference && this.fault === null;
    if (isDue && !this.isBusy && !this.stopTimer) this.saveAfter(SAVE_AFTER_MS);
    this.report();
    this.shown = this.present();
    for (const listener of this.listeners) listener();
  }

  /** Reports what was merged. It first asks the API who published it. */
  private report(): void {
    const { versions } = this;
    const { merges, difference, published } = versions;
    const isAboutPublished = [...merges, difference].some((each) => each?.about === 'published');
    if (isAboutPublished && this.askedFor !== published.etag) void this.askPublisher(published.etag);
    if (this.isAsking) return;
    versions.merges = [];
    for (const merge of merges) {
      const by = merge.about === 'published' ? (published.by ?? null) : merge.by;
      if (!this.isEnded) this.parts.onMerged({ ...merge, by });
    }
  }

  private askPublisher(etag: string): Promise<void> {
    this.askedFor = etag;
    this.isAsking = true;
    return this.queue(async () => {
      const by = await this.parts.service.publisher().catch(() => null);
      this.isAsking = false;
      if (this.versions.published.etag === etag) this.versions.seePublisher(by);
    });
  }

  private present(): Draft<Content> {
    const { content, stored, difference } = this.versions;
    return {
      content,
      change: this.change,
      state: this.state(),
      savedAt: stored?.at ?? null,
      fault: this.fault,
      isKept: this.isKept,
      conflict: difference && {
        ...difference,
        mine: content,
        keepMine: () => this.choose('keepMine'),
        takeTheirs: () => this.choose('takeTheirs'),
        resolve: this.resolve,
      },
      nameOf: nameIn(this.parts.form),
      discard: this.discard,
      publish: this.publish,
    };
  }

  private state(): Draft<Content>['state'] {
    const { difference, isUnsaved, stored } = this.versions;
    if (difference) return 'conflict';
    if (this.fault !== null) return 'failed';
    if (isUnsaved || this.isBusy) return 'saving';
    return stored ? 'saved' : 'published';
  }
}
