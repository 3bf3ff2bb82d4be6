/** What a session of an editor depends on, and what its failures mean. */
import { ApiError } from '../../api/errors.ts';
import type { DraftForm, Merge } from './draft.ts';
import type { KeptContent, StoredDraft } from './versions.ts';

export interface SessionParts<Content> {
  service: {
    load: () => Promise<StoredDraft<Content> | null>;
    /** @throws ApiError precondition_failed if the draft is not the one of `over` */
    save: (draft: KeptContent<Content>) => Promise<StoredDraft<Content>>;
    /** @throws ApiError precondition_failed if the draft has changed */
    remove: (etag: string) => Promise<void>;
    /** Finds who changed what is live last, if it is known. */
    publisher: () => Promise<string | null>;
  };
  form: DraftForm<Content>;
  /** What is on this device, in case the tab closes before it is saved. */
  device: {
    read: () => KeptContent<Content> | null;
    /** @returns whether it is kept */
    write: (kept: KeptContent<Content>) => boolean;
    clear: () => void;
  };
  /** Starts a timer. @returns a function that stops it */
  wait: (ms: number, work: () => void) => () => void;
  /** Loads what is live again; it comes in by `seePublished`. */
  reloadPublished: () => void;
  /** What someone else did replaces what is shown; nothing of it was unsaved. Null: the draft is gone. */
  onReplaced: (stored: StoredDraft<Content> | null) => void;
  /** What someone else did is part of the content now. */
  onMerged: (merge: Merge<Content>) => void;
}

export const isOutdated = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'precondition_failed';

/** A save that is refused for its content, or because the resource is gone, is not repeated before a change. */
export const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
