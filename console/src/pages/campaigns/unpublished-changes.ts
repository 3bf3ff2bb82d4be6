import { useState } from 'react';
import { useStoredDraft } from '../../editors/draft/stored-draft.ts';
import type { Campaign } from './campaign-frame.tsx';
import { stageOf } from './desk/content.ts';
import { readDraft } from './desk/read-draft.ts';

/** Whether a campaign has changes that are not part of it yet; `unknown` until that is loaded. */
export type UnpublishedChanges = 'some' | 'none' | 'unknown';

/**
 * What is sent, resumed or duplicated is the campaign itself, without the changes at its desk.
 * @returns also what the desk calls while it is open, as it has changes that the service does not have yet
 */
export function useUnpublishedChanges(
  campaign: Campaign,
): [UnpublishedChanges, (changes: UnpublishedChanges | null) => void] {
  const { id } = campaign;
  const [atDesk, setAtDesk] = useState<UnpublishedChanges | null>(null);
  const mayHave = stageOf(campaign) !== null;
  const stored = useStoredDraft({ kind: 'campaigns', id }, readDraft, mayHave && atDesk === null);
  if (!mayHave) return ['none', setAtDesk];
  if (atDesk !== null) return [atDesk, setAtDesk];
  if (stored.isFetching) return ['unknown', setAtDesk];
  return [stored.data ? 'some' : 'none', setAtDesk];
}
