import { useState } from 'react';
import { Dialog } from '../../ui/dialog.tsx';
import { countText } from '../../ui/details.tsx';
import { Menu } from '../../ui/menu.tsx';
import { BulkActionDialog } from './bulk-action-dialog.tsx';
import { actionTexts, bulkFilterOf, type BulkKind } from './bulk-action-text.ts';

const KINDS = ['add_to_list', 'remove_from_list', 'unsubscribe', 'delete'] as const;

/** What can be done to the ticked contacts or, if none is ticked, to all that the list shows on all of its pages. */
export function BulkActionMenu({
  filter,
  selectedIds,
  everyone,
  onStarted,
}: {
  /** The filters of the list, as in its URL. */
  filter: Record<string, string>;
  selectedIds: readonly number[];
  /** The contacts that the filters select, in words. */
  everyone: string;
  onStarted: () => void;
}) {
  const [kind, setKind] = useState<BulkKind | null>(null);
  const audience = selectedIds.length > 0 ? `${countText(selectedIds.length)} selected` : everyone;
  return (
    <>
      <Menu
        label={`Act on ${audience}`}
        items={KINDS.map((each) => ({
          label: actionTexts[each].label,
          danger: each === 'delete',
          onSelect: () => setKind(each),
        }))}
      />
      <Dialog
        open={kind !== null}
        onClose={() => setKind(null)}
        title={kind === null ? '' : `${actionTexts[kind].label}: ${audience}`}
      >
        {kind !== null && (
          <BulkActionDialog
            kind={kind}
            filter={bulkFilterOf(filter, selectedIds)}
            onStarted={onStarted}
            onCancel={() => setKind(null)}
          />
        )}
      </Dialog>
    </>
  );
}
