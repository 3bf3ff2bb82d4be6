import { useState } from 'react';
import { useStoredDraft } from '../../editors/draft/stored-draft.ts';
import type { Campaign } from './campaign-frame.tsx';
import { stageOf } from './editor/content.ts';
import { readDraft } from './editor/read-draft.ts';

/** Whether a campaign has changes that are not part of it yet; `unknown` until that is loaded. */
export type UnpublishedChanges = 'some' | 'none' | 'unknown';

/**
 * What is sent, resumed or duplicated is the campaign itself, without the changes in its editor.
 * @returns also what the editor calls while it is open, as it has changes that the service does not have yet
 */
export function useUnpublishedChanges(
  campaign: Campaign,
): [UnpublishedChanges, (changes: UnpublishedChanges | null) => void] {
  const { id } = campaign;
  const [inEditor, setInEditor] = useState<UnpublishedChanges | null>(null);
  const mayHave = stageOf(campaign) !== null;
  const stored = useStoredDraft({ kind: 'campaigns', id }, readDraft, mayHave && inEditor === null);
  if (!mayHave) return ['none', setInEditor];
  if (inEditor !== null) return [inEditor, setInEditor];
  if (stored.isFetching) return ['unknown', setInEditor];
  return [stored.data ? 'some' : 'none', setInEditor];
}
