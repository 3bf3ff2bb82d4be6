/**
 * The life of a draft while its editor is open, without React: what is kept on this device, what the service has, and
 * what to do if someone else changed it. Requests are sent one after the other, so that each knows the outcome of the
 * one before.
 */
import { hashKey } from '@tanstack/react-query';
import { ApiError, messageOf } from '../../api/errors.ts';
import type { Conflict, Draft, Published } from './draft.ts';

const SAVE_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 10_000;
const MAX_TRIES = 3;

/** A draft as the service has it. */
export interface StoredDraft<Content> {
  content: Content;
  etag: string;
  /** The ETag of the resource from which it began. */
  base: string;
  at: string;
  by: string | null;
}

/** Content that the service does not have yet. */
export interface KeptContent<Content> {
  content: Content;
  base: string;
  /** The ETag of the draft that it changes; null if there was none. */
  over: string | null;
}

export interface SessionParts<Content> {
  service: {
    load: () => Promise<StoredDraft<Content> | null>;
    /** @throws ApiError precondition_failed if the draft is not the one of `over` */
    save: (draft: KeptContent<Content>) => Promise<StoredDraft<Content>>;
    remove: (etag: string) => Promise<void>;
  };
  /** What is on this device, in case the tab closes before it is saved. */
  device: {
    read: () => KeptContent<Content> | null;
    write: (kept: KeptContent<Content>) => void;
    clear: () => void;
  };
  /** Starts a timer. @returns a function that stops it */
  wait: (ms: number, work: () => void) => () => void;
  /** Loads what is live again; it comes in by `seePublished`. */
  reloadPublished: () => void;
  /** Someone else's content replaces what is shown, of which nothing was unsaved. */
  onReplaced: (by: string | null, at: string) => void;
}

const isSame = (one: unknown, other: unknown) => one === other || hashKey([one]) === hashKey([other]);

const isOutdated = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'precondition_failed';

/** An editor's view of one draft. Create it with what the service has, then subscribe. */
export class DraftSession<Content extends object> {
  private content: Content;
  /** What {@link content} is built on: the ETags of the resource, and of the draft if there is one. */
  private base: string;
  private over: string | null;
  private isUnsaved = false;
  private isBusy = false;
  private fault: string | null = null;
  private conflict: Conflict<Content> | null = null;
  private stopTimer: () => void = () => undefined;
  private last: Promise<unknown> = Promise.resolve();
  private shown: Draft<Content>;
  private readonly listeners = new Set<() => void>();

  private published: Published<Content>;
  private stored: StoredDraft<Content> | null;
  private readonly parts: SessionParts<Content>;

  constructor(
    published: Published<Content>,
    stored: StoredDraft<Content> | null,
    parts: SessionParts<Content>,
  ) {
    this.published = published;
    this.stored = stored;
    this.parts = parts;
    const kept = parts.device.read();
    this.content = kept?.content ?? stored?.content ?? published.content;
    this.base = kept?.base ?? stored?.base ?? published.etag;
    this.over = kept ? kept.over : (stored?.etag ?? null);
    this.isUnsaved = kept !== null;
    this.settle();
    this.shown = this.present();
    if (this.isUnsaved) this.saveLater(0);
  }

  readonly snapshot = (): Draft<Content> => this.shown;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** What the service has, as far as this editor knows. */
  readonly storedDraft = (): StoredDraft<Content> | null => this.stored;

  private readonly change = (next: (content: Content) => Content): void => {
    const content = next(this.content);
    if (content === this.content) return;
    this.content = content;
    this.keep();
    this.saveLater(SAVE_AFTER_MS);
    this.emit();
  };

  /** Takes in what is live now, whoever changed it. */
  readonly seePublished = (published: Published<Content>): void => {
    if (published.etag === this.published.etag) return;
    const isSameContent = isSame(published.content, this.published.content);
    // Some changes, such as turning a flow off, leave the content as it was.
    if (isSameContent && this.base === this.published.etag && this.isDraft()) {
      this.base = published.etag;
      this.keep();
      this.saveLater(SAVE_AFTER_MS);
    }
    this.published = published;
    this.settle();
    this.emit();
  };

  /** Saves now what is unsaved. */
  readonly flush = (): Promise<void> => {
    this.stopTimer();
    return this.queue(() => this.save(MAX_TRIES));
  };

  /** Looks whether someone else changed the draft. */
  readonly check = (): Promise<void> =>
    this.queue(async () => {
      if (this.conflict) return;
      try {
        this.stored = await this.parts.service.load();
        this.settle();
      } catch {
        // The next save says what is wrong.
      }
    });

  private readonly discard = (): Promise<void> => {
    this.stopTimer();
    return this.queue(async () => {
      try {
        if (this.stored) await this.parts.service.remove(this.stored.etag);
        this.stored = null;
      } catch (error) {
        if (!isOutdated(error)) throw error;
        this.stored = await this.parts.service.load();
        this.forget();
        throw error;
      }
      this.forget();
    });
  };

  private readonly publish = async (
    send: (content: Content, etag: string) => Promise<Published<Content>>,
  ): Promise<void> => {
    await this.flush();
    if (this.conflict) throw new Error('Choose one of the two versions first.');
    if (this.isUnsaved) throw new Error(this.fault ?? 'The draft has changed meanwhile. Publish it again.');
    await this.queue(() => this.sendAndEnd(send));
  };

  private async sendAndEnd(
    send: (content: Content, etag: string) => Promise<Published<Content>>,
  ): Promise<void> {
    const sent = this.content;
    try {
      this.published = await send(sent, this.base);
    } catch (error) {
      if (isOutdated(error)) this.parts.reloadPublished();
      throw error;
    }
    this.base = this.published.etag;
    const ended = this.stored;
    if (ended) {
      // A draft that remains is equal to what is live, unless someone else saved it meanwhile.
      this.stored = await this.parts.service.remove(ended.etag).then(
        () => null,
        () => this.parts.service.load().catch(() => null),
      );
    }
    this.over = this.stored?.etag ?? null;
    if (this.content === sent) this.forget();
    else this.keep();
    this.parts.reloadPublished();
  }

  private async save(tries: number): Promise<void> {
    if (!this.isUnsaved || this.conflict) return;
    const sent: KeptContent<Content> = { content: this.content, base: this.base, over: this.over };
    try {
      this.stored = await this.store(sent);
      this.over = this.stored?.etag ?? null;
      this.fault = null;
      if (this.content !== sent.content || this.base !== sent.base) this.keep();
      else this.forget();
    } catch (error) {
      if (!isOutdated(error)) return this.postpone(error);
      this.stored = await this.parts.service.load();
      // The draft may have ended because it was published.
      if (!this.stored) this.parts.reloadPublished();
      this.settle();
      if (tries > 1) await this.save(tries - 1);
    }
  }

  private async store(sent: KeptContent<Content>): Promise<StoredDraft<Content> | null> {
    if (!isSame(sent.content, this.published.content)) return this.parts.service.save(sent);
    if (sent.over !== null) await this.parts.service.remove(sent.over);
    return null;
  }

  private postpone(error: unknown): void {
    this.fault = messageOf(error);
    // What the service refuses for its content is not sent again before it changes.
    const isRefused = error instanceof ApiError && error.status === 422;
    if (!isRefused) this.saveLater(RETRY_AFTER_MS);
  }

  private isDraft(): boolean {
    return this.isUnsaved || this.stored !== null;
  }

  /** Marks the content as not saved. */
  private keep(): void {
    this.isUnsaved = true;
    this.parts.device.write({ content: this.content, base: this.base, over: this.over });
  }

  /** Shows what the service has, because nothing else is left to save. */
  private forget(): void {
    const before = this.content;
    this.isUnsaved = false;
    this.fault = null;
    this.conflict = null;
    this.parts.device.clear();
    this.content = this.stored?.content ?? this.published.content;
    // The same content as another object would look like a change to editors.
    if (isSame(before, this.content)) this.content = before;
    this.base = this.stored?.base ?? this.published.etag;
    this.over = this.stored?.etag ?? null;
  }

  /** Compares what is shown with what the service has, after either changed. */
  private settle(): void {
    if (!this.isUnsaved) {
      const before = this.content;
      this.forget();
      if (this.content !== before && this.stored) this.parts.onReplaced(this.stored.by, this.stored.at);
    } else if (this.stored && isSame(this.content, this.stored.content)) {
      this.forget();
    } else if (!this.stored) {
      // Whoever discarded the draft meant the content that they saw.
      this.over = null;
    }
    this.conflict = this.findConflict();
  }

  private findConflict(): Conflict<Content> | null {
    const { stored, published } = this;
    if (this.isUnsaved && stored && stored.etag !== this.over) {
      return { about: 'draft', by: stored.by, at: stored.at, ...this.choice(stored.content) };
    }
    if (!this.isDraft() || this.base === published.etag) return null;
    if (!isSame(this.content, published.content)) {
      return {
        about: 'published',
        by: null,
        at: published.at ?? null,
        ...this.choice(published.content),
      };
    }
    // The draft was published, but is still there.
    this.base = published.etag;
    this.keep();
    this.saveLater(0);
    return null;
  }

  private choice(theirs: Content) {
    return {
      mine: this.content,
      theirs,
      keepMine: () => this.choose(this.content),
      takeTheirs: () => this.choose(theirs),
    };
  }

  /** Both versions were seen: the chosen one follows them. */
  private choose(content: Content): void {
    this.over = this.stored?.etag ?? null;
    this.base = this.conflict?.about === 'draft' ? (this.stored?.base ?? this.base) : this.published.etag;
    this.content = content;
    this.keep();
    this.settle();
    this.emit();
    void this.flush();
  }

  private saveLater(ms: number): void {
    this.stopTimer();
    this.stopTimer = this.parts.wait(ms, () => void this.flush());
  }

  private queue(work: () => Promise<void>): Promise<void> {
    const run = async () => {
      this.isBusy = true;
      this.emit();
      try {
        await work();
      } finally {
        this.isBusy = false;
        if (this.isUnsaved && !this.conflict && this.fault === null) this.saveLater(SAVE_AFTER_MS);
        this.emit();
      }
    };
    const result = this.last.then(run, run);
    this.last = result.catch(() => undefined);
    return result;
  }

  private emit(): void {
    this.shown = this.present();
    for (const listener of this.listeners) listener();
  }

  private present(): Draft<Content> {
    return {
      content: this.content,
      change: this.change,
      state: this.state(),
      savedAt: this.stored?.at ?? null,
      fault: this.fault,
      conflict: this.conflict,
      discard: this.discard,
      publish: this.publish,
    };
  }

  private state(): Draft<Content>['state'] {
    if (this.conflict) return 'conflict';
    if (this.fault !== null) return 'failed';
    if (this.isUnsaved || this.isBusy) return 'saving';
    return this.stored ? 'saved' : 'published';
  }
}
