import { useState } from 'react';
import { api, call, type Schemas } from '../../../api/client.ts';
import { FilterBuilder } from '../../../editors/filters/filter-builder.tsx';
import { isComplete } from '../../../editors/filters/values.ts';
import { useAction } from '../../../ui/action.ts';
import { ActionForm } from '../../../ui/action-form.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Field, TextInput } from '../../../ui/field.tsx';
import { formText } from '../../../ui/form.ts';
import { useSettled } from '../../../ui/settled.ts';
import { filterErrors, useSegmentPreview } from '../../segments/preview.ts';
import { SegmentCount } from '../../segments/segment-count.tsx';

type Filters = Schemas['Filter'][];

/** Makes a segment without leaving the campaign. */
export function NewSegmentDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (segment: Schemas['Segment']) => void;
}) {
  const [filters, setFilters] = useState<Filters>([]);
  const settled = useSettled(filters);
  const isWhole = (each: Filters) => each.length > 0 && each.every((filter) => isComplete(filter, 'segment'));
  const counted = isWhole(filters) && isWhole(settled) ? settled : null;
  const { error } = useSegmentPreview(counted);
  const action = useAction({
    work: (body: { name: string; filters: Filters }, key) =>
      call(() => api.POST('/v1/my/segments', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'The segment is made, and chosen.',
    refresh: ['segments'],
    fields: ['name'],
    onDone(segment) {
      onCreated(segment);
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title="New segment" wide>
      <ActionForm
        action={action}
        onSubmit={(form) => action.run({ name: formText(form, 'name'), filters })}
        submit="Make the segment"
        close={{ label: 'Close', onClick: onClose }}
      >
        <Field label="Name" error={action.errorOf('name')}>
          <TextInput name="name" required autoFocus />
        </Field>
        <FilterBuilder
          label="Filters"
          filters={filters}
          onChange={setFilters}
          scope="segment"
          errors={filterErrors(error)}
        />
        {counted && !error && (
          <p role="status">
            <strong>
              <SegmentCount filters={counted} /> contacts
            </strong>
          </p>
        )}
      </ActionForm>
    </Dialog>
  );
}
