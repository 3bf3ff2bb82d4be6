/** Says who changed what is edited here, and when. */
import { clockText } from './clock-text.ts';
import type { Conflict, DraftForm, Merge } from './draft.ts';
import { namesOf } from './field-names.ts';
import type { StoredDraft } from './versions.ts';

/** How a draft names the user who edits it. */
export const YOU = 'You';

const whenText = (at: string | null) => (at === null ? 'meanwhile' : `at ${clockText(at)}`);

/** Nobody is told that they did in this window what they did not do in it. */
const whereText = (by: string | null) => (by === YOU ? ' in another window' : '');

const changeText = ({ by, at }: { by: string | null; at: string | null }, what: string) =>
  `${by ?? 'Someone else'} changed ${what}${whereText(by)} ${whenText(at)}.`;

export function conflictText({ about, by, at }: Pick<Conflict<unknown>, 'about' | 'by' | 'at'>): string {
  if (about === 'unreadable') return 'This draft cannot be read.';
  if (about === 'draft') return changeText({ by, at }, 'this');
  if (by !== null) return `${by} published a change${whereText(by)} ${whenText(at)}.`;
  return `What is published has changed since you began, ${whenText(at)}.`;
}

export const replacedText = (stored: Pick<StoredDraft<object>, 'by' | 'at'> | null): string =>
  stored ? changeText(stored, 'this') : 'Someone else published or discarded the changes.';

export function mergedText<Content>(form: DraftForm<Content>, merge: Merge<Content>): string {
  const { about, by, at, mine, theirs, paths } = merge;
  const names = namesOf(form, paths, [mine, theirs]);
  return about === 'published'
    ? `${by ?? 'Someone else'} published ${names}${whereText(by)} ${whenText(at)}. Your draft has that as well now.`
    : `${changeText({ by, at }, names)} Both changes are kept.`;
}
