/**
 * The versions of what is edited: what is live, the draft that the service has, and what the editor shows. They know
 * whether something is unsaved, and whether someone else changed what the user has not seen.
 */
import type { Conflict, DraftForm, Merge, Published } from './draft.ts';
import type { Choices } from './merging.ts';
import { reconcile } from './reconcile.ts';
import { isSame } from './same.ts';

/** A draft as the service has it. */
export interface StoredDraft<Content> {
  /** Null if the editor cannot read it. */
  content: Content | null;
  etag: string;
  /** The ETag of the resource from which it began. */
  base: string;
  /** What was live then, if the service knows it and the editor can read it. */
  baseContent: Content | null;
  at: string;
  by: string | null;
}

/** Content that the service does not have yet. */
export interface KeptContent<Content> {
  content: Content;
  base: string;
  /** The ETag of the draft that it changes; null if there was none. */
  over: string | null;
  /** The contents of `base` and `over`, to merge with; null if they are not known. */
  baseContent: Content | null;
  overContent: Content | null;
}

/** Two versions to choose from. */
export type Difference<Content> = Omit<Conflict<Content>, 'mine' | 'keepMine' | 'takeTheirs' | 'resolve'>;

interface Chosen {
  about: Conflict<unknown>['about'];
  choices: Choices;
}

export class Versions<Content extends object> {
  published: Published<Content>;
  stored: StoredDraft<Content> | null;
  content: Content;
  isUnsaved: boolean;
  difference: Difference<Content> | null = null;
  /** What others did that is part of the content now, and was not reported yet. */
  merges: Merge<Content>[] = [];
  /** What {@link content} is built on: the resource, and the draft if there is one; by their ETags, and as they were. */
  private base: string;
  private over: string | null;
  private baseContent: Content | null;
  private overContent: Content | null;
  private readonly form: DraftForm<Content>;
  /** The ETag of a draft that cannot be read, and is given up. */
  private givenUp: string | null = null;

  /** @param kept what this device has kept of an editor that was closed before it was saved */
  constructor(
    published: Published<Content>,
    stored: StoredDraft<Content> | null,
    kept: KeptContent<Content> | null,
    form: DraftForm<Content>,
  ) {
    this.form = form;
    this.published = published;
    this.stored = stored;
    this.content = kept?.content ?? published.content;
    this.base = kept?.base ?? published.etag;
    this.over = kept?.over ?? null;
    this.baseContent = this.contentAt(this.base, kept?.baseContent ?? null);
    this.overContent = kept?.overContent ?? null;
    this.isUnsaved = kept !== null;
    this.settle();
  }

  kept(): KeptContent<Content> {
    const { content, base, over, baseContent, overContent } = this;
    return { content, base, over, baseContent, overContent };
  }

  change(content: Content): void {
    this.content = content;
    this.isUnsaved = true;
    this.settle();
  }

  /** Takes over what is live now, no matter who changed it. */
  seePublished(published: Published<Content>): void {
    this.published = published;
    this.settle();
  }

  /** Takes over who last changed what is live. */
  seePublisher(by: string | null): void {
    this.published = { ...this.published, by };
    this.settle();
  }

  /** Takes over the draft that the service has now. @returns whether it is shown instead of another content */
  seeStored(stored: StoredDraft<Content> | null): boolean {
    const { content: before, merges } = this;
    const count = merges.length;
    this.stored = stored;
    this.settle();
    return this.content !== before && merges.length === count;
  }

  /** @param stored what the service has after it was given `sent`; null if that is what is live */
  saved(sent: KeptContent<Content>, stored: StoredDraft<Content> | null): void {
    this.stored = stored;
    this.buildOnStored();
    if (this.content === sent.content && this.base === sent.base) this.follow();
    this.settle();
  }

  /** @param stored what is left of the draft: null, or what someone else saved meanwhile */
  publishedAs(sent: Content, published: Published<Content>, stored: StoredDraft<Content> | null): void {
    this.published = published;
    this.stored = stored;
    this.buildOnPublished();
    this.buildOnStored();
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
    this.buildOnStored();
    if (this.difference?.about === 'published') this.buildOnPublished();
    this.isUnsaved = true;
    this.settle();
  }

  takeTheirs(): void {
    if (this.difference?.about === 'unreadable') this.givenUp = this.stored?.etag ?? null;
    if (this.difference?.about === 'draft') {
      this.follow();
    } else {
      this.content = this.published.content;
      this.buildOnPublished();
      this.buildOnStored();
      // The draft is left, and is deleted instead of saved.
      this.isUnsaved = this.stored !== null;
    }
    this.settle();
  }

  /** Merges with what was chosen where both changed the same. @returns whether that is possible */
  resolve(choices: Choices): boolean {
    const before = this.difference;
    if (!before) return false;
    this.settle({ about: before.about, choices });
    return this.difference?.about !== before.about;
  }

  private buildOnPublished(): void {
    this.base = this.published.etag;
    this.baseContent = this.published.content;
  }

  private buildOnStored(): void {
    this.over = this.stored?.etag ?? null;
    this.overContent = this.stored?.content ?? null;
  }

  /** Where a draft cannot be read, what is published is shown. */
  private storedBase(): string {
    return this.stored?.content ? this.stored.base : this.published.etag;
  }

  private contentAt(base: string, known: Content | null): Content | null {
    return base === this.published.etag ? this.published.content : known;
  }

  private follow(): void {
    const before = this.content;
    const after = this.stored?.content ?? this.published.content;
    // The same content as another object would look like a change to editors.
    this.content = isSame(before, after) ? before : after;
    this.base = this.storedBase();
    this.baseContent = this.contentAt(this.base, this.stored?.baseContent ?? null);
    this.buildOnStored();
    this.isUnsaved = false;
  }

  /** Compares what is shown with what the service has, after one of them changed. */
  private settle(chosen: Chosen | null = null): void {
    const { stored, published } = this;
    const isNews = stored === null ? isSame(this.content, published.content) : stored.etag !== this.over;
    if (!this.isUnsaved) this.follow();
    else if (isNews && isSame(this.content, stored?.content ?? published.content)) this.follow();
    // The person who discarded the draft had not seen what is unsaved here.
    if (!stored) this.buildOnStored();
    this.difference = this.findUnreadable() ?? this.settleDraft(chosen) ?? this.settlePublished(chosen);
  }

  private findUnreadable(): Difference<Content> | null {
    const { stored, published } = this;
    if (!stored || stored.content || stored.etag === this.givenUp) return null;
    const { by, at } = stored;
    return { about: 'unreadable', by, at, theirs: published.content, collisions: null };
  }

  /** Merges what someone else saved into what is unsaved here. @returns what cannot be merged */
  private settleDraft(chosen: Chosen | null): Difference<Content> | null {
    const { stored } = this;
    if (!(this.isUnsaved && stored?.content && stored.etag !== this.over)) return null;
    const ancestor = this.over === null ? this.baseContent : this.overContent;
    const { by, at, content: theirs } = stored;
    const left = this.mergeWith(ancestor, { about: 'draft', by, at, theirs }, chosen);
    if (left) return left;
    const known = stored.base === this.base ? this.baseContent : null;
    this.base = stored.base;
    this.baseContent = this.contentAt(stored.base, stored.baseContent ?? known);
    this.buildOnStored();
    if (isSame(this.content, theirs)) this.follow();
    return null;
  }

  /** Merges what was published since the draft began. @returns what cannot be merged */
  private settlePublished(chosen: Chosen | null): Difference<Content> | null {
    const { stored, published } = this;
    if (!(this.isUnsaved || stored) || this.base === published.etag) return null;
    // Either the draft was published, and is still there: then it is deleted. Or only the status was changed.
    const isNoNews = [this.content, this.baseContent].some((known) => isSame(known, published.content));
    if (!isNoNews) {
      const { by = null, at = null, content: theirs } = published;
      const left = this.mergeWith(this.baseContent, { about: 'published', by, at, theirs }, chosen);
      if (left) return left;
    }
    this.buildOnPublished();
    this.isUnsaved = true;
    return null;
  }

  /** @returns null if the content now includes theirs */
  private mergeWith(
    ancestor: Content | null,
    other: Omit<Difference<Content>, 'collisions'>,
    chosen: Chosen | null,
  ): Difference<Content> | null {
    const { content: mine } = this;
    const choices: Choices = chosen?.about === other.about ? chosen.choices : new Map();
    const of = ancestor && { base: ancestor, mine, theirs: other.theirs };
    const merged = of && reconcile(this.form, of, choices);
    if (!merged || merged.collisions.some(({ name }) => !choices.has(name))) {
      return { ...other, collisions: merged?.collisions ?? null };
    }
    this.content = merged.value;
    if (merged.taken.length > 0) this.merges.push({ ...other, mine, paths: merged.taken });
    return null;
  }
}
