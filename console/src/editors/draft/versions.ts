/**
 * The versions of what is edited: what is live, the draft that the service has, and what the editor shows. They know
 * whether something is unsaved, and whether someone else changed what the user has not seen.
 */
import type { Conflict, Published } from './draft.ts';
import { isSame } from './same.ts';

/** A draft as the service has it. */
export interface StoredDraft<Content> {
  /** Null if the editor cannot read it. */
  content: Content | null;
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

/** Two versions to choose from. */
export type Difference<Content> = Omit<Conflict<Content>, 'mine' | 'keepMine' | 'takeTheirs'>;

export class Versions<Content extends object> {
  published: Published<Content>;
  stored: StoredDraft<Content> | null;
  content: Content;
  isUnsaved: boolean;
  difference: Difference<Content> | null = null;
  /** What {@link content} is built on: the ETags of the resource, and of the draft if there is one. */
  private base: string;
  private over: string | null;
  /** The ETag of a draft that cannot be read, and is given up. */
  private givenUp: string | null = null;

  /** @param kept what this device has kept of an editor that was closed before it was saved */
  constructor(
    published: Published<Content>,
    stored: StoredDraft<Content> | null,
    kept: KeptContent<Content> | null,
  ) {
    this.published = published;
    this.stored = stored;
    this.content = kept?.content ?? stored?.content ?? published.content;
    this.base = kept?.base ?? this.storedBase();
    this.over = kept ? kept.over : (stored?.etag ?? null);
    this.isUnsaved = kept !== null;
    this.settle();
  }

  kept(): KeptContent<Content> {
    return { content: this.content, base: this.base, over: this.over };
  }

  change(content: Content): void {
    this.content = content;
    this.isUnsaved = true;
    this.settle();
  }

  /** Takes in what is live now, whoever changed it. */
  seePublished(published: Published<Content>): void {
    const isBuiltOn = this.base === this.published.etag && (this.isUnsaved || this.stored !== null);
    // Some changes, such as turning a flow off, leave the content as it was.
    if (isBuiltOn && isSame(published.content, this.published.content)) {
      this.base = published.etag;
      this.isUnsaved = true;
    }
    this.published = published;
    this.settle();
  }

  /** Takes in the draft that the service has now. @returns whether it is shown instead of another content */
  seeStored(stored: StoredDraft<Content> | null): boolean {
    const before = this.content;
    this.stored = stored;
    this.settle();
    return this.content !== before;
  }

  /** @param stored what the service has after it was given `sent`; null if that is what is live */
  saved(sent: KeptContent<Content>, stored: StoredDraft<Content> | null): void {
    this.stored = stored;
    this.over = stored?.etag ?? null;
    if (this.content === sent.content && this.base === sent.base) this.follow();
    this.settle();
  }

  /** @param stored what is left of the draft: null, or what someone else saved meanwhile */
  publishedAs(sent: Content, published: Published<Content>, stored: StoredDraft<Content> | null): void {
    this.published = published;
    this.stored = stored;
    this.base = published.etag;
    this.over = stored?.etag ?? null;
    if (this.content === sent) this.follow();
    this.settle();
  }

  /** Shows what the service has, instead of what is unsaved. */
  discarded(stored: StoredDraft<Content> | null): void {
    this.stored = stored;
    this.follow();
    this.settle();
  }

  keepMine(): void {
    if (this.difference?.about === 'unreadable') this.givenUp = this.stored?.etag ?? null;
    this.over = this.stored?.etag ?? null;
    if (this.difference?.about === 'published') this.base = this.published.etag;
    this.isUnsaved = true;
    this.settle();
  }

  takeTheirs(): void {
    if (this.difference?.about === 'unreadable') this.givenUp = this.stored?.etag ?? null;
    if (this.difference?.about === 'draft') {
      this.follow();
    } else {
      this.content = this.published.content;
      this.base = this.published.etag;
      this.over = this.stored?.etag ?? null;
      // The draft is left, and is deleted instead of saved.
      this.isUnsaved = this.stored !== null;
    }
    this.settle();
  }

  /** Where a draft cannot be read, what is published is shown. */
  private storedBase(): string {
    return this.stored?.content ? this.stored.base : this.published.etag;
  }

  private follow(): void {
    const before = this.content;
    const after = this.stored?.content ?? this.published.content;
    // The same content as another object would look like a change to editors.
    this.content = isSame(before, after) ? before : after;
    this.base = this.storedBase();
    this.over = this.stored?.etag ?? null;
    this.isUnsaved = false;
  }

  /** Compares what is shown with what the service has, after one of them changed. */
  private settle(): void {
    const { stored, published } = this;
    const isNews = stored === null ? isSame(this.content, published.content) : stored.etag !== this.over;
    if (!this.isUnsaved) this.follow();
    else if (isNews && isSame(this.content, stored?.content ?? published.content)) this.follow();
    // Whoever discarded the draft had not seen what is unsaved here.
    if (!stored) this.over = null;
    this.difference = this.findDifference();
  }

  private findDifference(): Difference<Content> | null {
    const { stored, published } = this;
    if (stored && !stored.content) {
      const { by, at, etag } = stored;
      if (etag !== this.givenUp) return { about: 'unreadable', by, at, theirs: published.content };
    }
    if (this.isUnsaved && stored?.content && stored.etag !== this.over) {
      return { about: 'draft', by: stored.by, at: stored.at, theirs: stored.content };
    }
    if (!(this.isUnsaved || stored) || this.base === published.etag) return null;
    if (!isSame(this.content, published.content)) {
      return { about: 'published', by: null, at: published.at ?? null, theirs: published.content };
    }
    // The draft was published, but is still there: it is deleted instead of saved.
    this.base = published.etag;
    this.isUnsaved = true;
    return null;
  }
}
