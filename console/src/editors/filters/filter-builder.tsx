import { useMemo, type ReactNode } from 'react';
import { FilterGroup } from './filter-group.tsx';
import type { Filter, Scope } from './language.ts';
import { FilterContext, type EarlierStep } from './filter-context.ts';

const NO_STEPS: readonly EarlierStep[] = [];
const NO_ERRORS = {};

/**
 * Edits filters, all of which must match. A filter that it does not understand is shown as JSON and stays as it is.
 * @param props.scope what the filters may name: `trigger` adds `trigger.<path>`; `step` adds what earlier steps got, too;
 *   `received` adds `received.<path>` as well
 * @param props.errors what the API refused, by paths from the filters, such as `0.value`
 */
export function FilterBuilder({
  label,
  filters,
  onChange,
  scope,
  steps = NO_STEPS,
  errors = NO_ERRORS,
}: {
  label: string;
  filters: readonly Filter[];
  onChange: (next: Filter[]) => void;
  scope: Scope;
  steps?: readonly EarlierStep[];
  errors?: Readonly<Record<string, readonly string[]>>;
}): ReactNode {
  const place = useMemo(() => ({ scope, steps, errors }), [scope, steps, errors]);
  return (
    <FilterContext value={place}>
      <div className="filter-builder" role="group" aria-label={label}>
        <FilterGroup filters={filters} onChange={onChange} joiner="and" path="" depth={1} />
      </div>
    </FilterContext>
  );
}
