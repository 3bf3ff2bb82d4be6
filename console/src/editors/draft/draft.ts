/** What an editor edits: a draft beside the resource that is live. */
import type { Choices, Collision, Path, Three } from './merging.ts';

export interface DraftOf {
  kind: 'templates' | 'campaigns' | 'flows' | 'segments';
  id: number;
}

/** Reads a stored content. Programs and other versions of the console save drafts, too. @returns null if it cannot */
export type ReadContent<Content> = (value: unknown) => Content | null;

/** What an editor knows of its contents. The same object at each call. */
export interface DraftForm<Content> {
  read: ReadContent<Content>;
  /** Gives mine other names where both named new things alike. @returns null if the versions cannot be merged */
  prepare?: (of: Three<Content>) => Three<Content> | null;
  /** Whether a merged content makes sense, as far as its parts depend on each other. */
  isSound?: (merged: Content, of: Three<Content>) => boolean;
  /** Names a place of a content, such as a step. @returns null where the usual names of fields do */
  nameOf?: (path: Path, versions: readonly Content[]) => string | null;
}

/** The resource that is live, as far as the editor edits it. */
export interface Published<Content> {
  content: Content;
  etag: string;
  /** When it changed last, for people. */
  at?: string;
  /** Who changed it last, if it is known. */
  by?: string | null;
}

/** A change by someone else that is now part of the content. */
export interface Merge<Content> {
  about: Conflict<Content>['about'];
  by: string | null;
  at: string | null;
  /** The content before. */
  mine: Content;
  theirs: Content;
  paths: readonly Path[];
}

/** Two versions, between which the user must choose. Until then nothing is saved, and neither version is lost. */
export interface Conflict<Content> {
  /** Someone else saved the draft, or changed what is live; or the draft has a form that the editor does not know. */
  about: 'draft' | 'published' | 'unreadable';
  /** Who did it, if it is known. */
  by: string | null;
  at: string | null;
  mine: Content;
  theirs: Content;
  /** Where both changed the same; null if only whole versions can be chosen. */
  collisions: readonly Collision[] | null;
  keepMine: () => void;
  takeTheirs: () => void;
  /** Merges both, with a choice for each collision. @returns false if these choices do not fit together */
  resolve: (choices: Choices) => boolean;
}

export interface Draft<Content> {
  content: Content;
  change: (next: (content: Content) => Content) => void;
  /** `published`: nothing differs from what is live. */
  state: 'published' | 'saving' | 'saved' | 'failed' | 'conflict';
  savedAt: string | null;
  /** Why the last save failed; null if it did not. */
  fault: string | null;
  /** Whether this device keeps what is not saved. */
  isKept: boolean;
  conflict: Conflict<Content> | null;
  /** Names a place of the content. */
  nameOf: (path: Path, versions: readonly Content[]) => string;
  /** Returns to what is live. */
  discard: () => Promise<void>;
  /**
   * Saves what is unsaved, sends it, and deletes the draft.
   * @param send changes the resource, with the ETag as `If-Match`, and returns it as it is now
   * @param expected the content that the user has agreed to publish, if that was before the call
   * @throws what `send` throws; an Error while two versions are to be chosen from, if the draft cannot be saved, or if
   * the content is no longer the expected one
   */
  publish: (
    send: (content: Content, etag: string) => Promise<Published<Content>>,
    expected?: Content,
  ) => Promise<void>;
}
