import { useState, type ReactNode } from 'react';
import { FilterBuilder } from '../../editors/filters/filter-builder.tsx';
import { areComplete } from '../../editors/filters/values.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { useSettled } from '../../ui/settled.ts';
import { FiltersJson } from './filters-json.tsx';
import type { Filters } from './preview.ts';
import type { SegmentContent } from './read-draft.ts';
import { SegmentNow, useSegmentNow } from './segment-now.tsx';

/** What filters that are being edited select now. */
export function useSelection(filters: Filters) {
  const complete = areComplete(filters, 'segment');
  const quiet = useSettled(filters);
  const counted = complete && areComplete(quiet, 'segment') ? quiet : null;
  const now = useSegmentNow(counted);
  return { counted, now, isComplete: complete, isRefused: Object.keys(now.errors).length > 0 };
}

/** The name and the filters of a segment, with the contacts that they select beside them. */
export function SegmentForm({
  content,
  change,
  selection: { now, counted },
  nameErrors,
  children,
}: {
  content: SegmentContent;
  change: (next: (before: SegmentContent) => SegmentContent) => void;
  selection: ReturnType<typeof useSelection>;
  nameErrors: readonly string[];
  /** Shown below the filters. */
  children?: ReactNode;
}) {
  return (
    <div className="segment-editor">
      <Card>
        <Field label="Name" error={nameErrors}>
          <TextInput
            value={content.name}
            autoComplete="off"
            onChange={({ target }) => change((before) => ({ ...before, name: target.value }))}
          />
        </Field>
        <FiltersField
          filters={content.filters}
          onChange={(filters) => change((before) => ({ ...before, filters }))}
          errors={now.errors}
        />
        {children}
      </Card>
      <SegmentNow now={now} filters={counted} />
    </div>
  );
}

function FiltersField({
  filters,
  onChange,
  errors,
}: {
  filters: Filters;
  onChange: (next: Filters) => void;
  errors: Readonly<Record<string, readonly string[]>>;
}) {
  const [asJson, setAsJson] = useState(false);
  return (
    <>
      <div className="actions">
        <h2>Contacts that match all of these</h2>
        <span className="grow" />
        <Button kind="quiet" aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
          Edit as JSON
        </Button>
      </div>
      {asJson ? (
        <FiltersJson filters={filters} onChange={onChange} errors={errors} />
      ) : (
        <FilterBuilder
          label="Filters"
          scope="segment"
          filters={filters}
          onChange={onChange}
          errors={errors}
        />
      )}
    </>
  );
}
