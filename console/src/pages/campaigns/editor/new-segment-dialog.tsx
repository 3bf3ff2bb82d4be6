import { useState } from 'react';
import type { Schemas } from '../../../api/client.ts';
import { FilterBuilder } from '../../../editors/filters/filter-builder.tsx';
import { ActionForm } from '../../../ui/action-form.tsx';
import { Dialog } from '../../../ui/dialog.tsx';
import { Field, TextInput } from '../../../ui/field.tsx';
import { formText } from '../../../ui/form.ts';
import { useSettled } from '../../../ui/settled.ts';
import { useCreateSegment } from '../../segments/create-segment.ts';
import { whyNotYet } from '../../segments/new-segment.ts';
import { filterErrors, useSegmentPreview, type Filters } from '../../segments/preview.ts';
import { SegmentCount } from '../../segments/segment-count.tsx';

/** Creates a segment without leaving the campaign. */
export function NewSegmentDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (segment: Schemas['Segment']) => void;
}) {
  const [filters, setFilters] = useState<Filters>([]);
  const [asked, setAsked] = useState(false);
  const settled = useSettled(filters);
  const isWhole = (each: Filters) => whyNotYet(each, false) === null;
  const counted = isWhole(filters) && isWhole(settled) ? settled : null;
  const { error } = useSegmentPreview(counted);
  const errors = filterErrors(error);
  const reason = whyNotYet(filters, Object.keys(errors).length > 0);
  const action = useCreateSegment({
    done: 'The segment is created and selected.',
    onDone(segment) {
      onCreated(segment);
      onClose();
    },
  });
  const submit = (form: FormData) => {
    setAsked(true);
    if (reason === null) action.run({ name: formText(form, 'name'), filters });
  };
  return (
    <Dialog open onClose={onClose} title="New segment" wide>
      <ActionForm
        action={action}
        kept={null}
        onSubmit={submit}
        submit="Create the segment"
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
          errors={errors}
        />
        {asked && reason !== null && (
          <p className="field-error" role="alert">
            {reason}
          </p>
        )}
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
