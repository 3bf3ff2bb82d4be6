import { useId } from 'react';
import { predicateText } from '../../ui/filter-text.ts';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { isCountry, kindOf, PREDICATES, type Filter, type NameKind, type Predicate } from './language.ts';
import { NameChoice, type Notes } from './name-choice.tsx';
import { numberOf, useFilterContext } from './filter-context.ts';
import { ValueEditor } from './value-editor.tsx';
import { isShown, typeOfAll, withPredicate } from './values.ts';

interface RowProps {
  filter: Filter;
  path: string;
  isNew: boolean;
  onChange: (next: Filter) => void;
  onRemove: () => void;
}

/** Predicates that say the same as others are offered only where a filter has them. */
const REDUNDANT: Partial<Record<NameKind, readonly Predicate[]>> = {
  boolean: ['eq', 'not_eq'],
  list: ['eq', 'not_eq'],
  segment: ['eq', 'not_eq'],
};
/** A part of a two-letter code means nothing. */
const REDUNDANT_OF_COUNTRIES: readonly Predicate[] = ['cont', 'not_cont', 'start', 'end'];

function predicateOptions({ name, predicate, value }: Filter, kind: NameKind) {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  const isTime = kind === 'time' || (kind === 'json' && typeOfAll(values, ['date', 'time']) !== null);
  const redundant = isCountry(name) ? REDUNDANT_OF_COUNTRIES : REDUNDANT[kind];
  const isOffered = (each: Predicate) => each === predicate || redundant?.includes(each) !== true;
  return PREDICATES[kind]
    .filter(isOffered)
    .map((each) => ({ value: each, label: predicateText(name, each, isTime) }));
}

/** The errors of one filter, without those of filters inside it. */
function useRowErrors(path: string): readonly string[] {
  const { errors } = useFilterContext();
  return Object.entries(errors)
    .filter(([at]) => at === path || at.startsWith(`${path}.`))
    .flatMap(([, messages]) => messages);
}

/** One filter: what it is about, the predicate, and the value that it needs. */
export function FilterRow({ filter, path, isNew, onChange, onRemove }: RowProps) {
  const { scope } = useFilterContext();
  const errors = useRowErrors(path);
  const errorId = useId();
  const number = numberOf(path);
  const kind = kindOf(filter.name, scope);
  const shown = isShown(filter, scope);
  const notes: Notes = {
    'aria-describedby': errors.length > 0 ? errorId : undefined,
    'aria-invalid': errors.length > 0 ? true : undefined,
  };
  return (
    <div role="group" aria-label={`Filter ${number}`}>
      <div className="filter-row">
        <div className="filter-inputs">
          {shown ? (
            <>
              <NameChoice filter={filter} isNew={isNew} onChange={onChange} notes={notes} />
              {kind && (
                <Select
                  aria-label="Predicate"
                  className="input filter-predicate"
                  value={filter.predicate}
                  options={predicateOptions(filter, kind)}
                  onChange={(event) => onChange(withPredicate(filter, kind, event.target.value as Predicate))}
                  {...notes}
                />
              )}
              {kind && <ValueEditor filter={filter} kind={kind} onChange={onChange} notes={notes} />}
            </>
          ) : (
            <Unknown filter={filter} />
          )}
        </div>
        <Button kind="quiet" aria-label={`Remove filter ${number}`} onClick={onRemove}>
          ✕
        </Button>
      </div>
      {errors.length > 0 && (
        <p className="field-error" id={errorId} role="alert">
          {errors.join(' ')}
        </p>
      )}
    </div>
  );
}

function Unknown({ filter }: { filter: Filter }) {
  return (
    <div className="filter-json">
      <code>{JSON.stringify(filter)}</code>
      <p className="hint">This filter cannot be edited here. It stays as it is.</p>
    </div>
  );
}
