/** Sentences about changes by others to what the user edits. */
import { clockText } from '../../ui/clock-text.ts';
import type { Conflict, DraftForm, Merge } from './draft.ts';
import { namesOf } from './field-names.ts';
import type { StoredDraft } from './versions.ts';

/** How these sentences name the user who reads them. */
export const YOU = 'You';

const whenText = (at: string | null) => (at === null ? 'meanwhile' : `at ${clockText(at)}`);

/** If the other change is the user's own, it was made in another window, and the sentence says so. */
const whereText = (by: string | null) => (by === YOU ? ' in another window' : '');

const changeText = ({ by, at }: { by: string | null; at: string | null }, what: string) =>
  `${by ?? 'Someone else'} changed ${what}${whereText(by)} ${whenText(at)}.`;

export function conflictText({ about, by, at }: Pick<Conflict<unknown>, 'about' | 'by' | 'at'>): string {
  if (about === 'unreadable') return 'This draft cannot be read.';
  if (about === 'draft') return changeText({ by, at }, 'this');
  if (by !== null) return `${by} published a change${whereText(by)} ${whenText(at)}.`;
  return `The published version changed ${whenText(at)}.`;
}

export const replacedText = (stored: Pick<StoredDraft<object>, 'by' | 'at'> | null): string =>
  stored ? changeText(stored, 'this') : 'Someone else published or discarded the changes.';

export function mergedText<Content>(form: DraftForm<Content>, merge: Merge<Content>): string {
  const { about, by, at, mine, theirs, paths } = merge;
  const names = namesOf(form, paths, [mine, theirs]);
  return about === 'published'
    ? `${by ?? 'Someone else'} published ${names}${whereText(by)} ${whenText(at)}. Your draft now includes this change.`
    : `${changeText({ by, at }, names)} Both changes are kept.`;
}
