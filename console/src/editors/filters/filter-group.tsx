import { useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { Select } from '../../ui/field.tsx';
import { FilterRow } from './filter-row.tsx';
import { MAX_DEPTH, type Filter } from './language.ts';
import { numberOf, useFilterContext } from './filter-context.ts';
import { groupOf, NEW_FILTER } from './values.ts';

const NEW_GROUP: Filter = { name: 'any', predicate: 'or', value: [NEW_FILTER] };

let lastKey = 0;
const nextKey = () => (lastKey += 1);

/** Filters have no ids: keys let a row keep what is being typed in it when another one is removed. */
function useRowKeys(count: number) {
  const [keys, setKeys] = useState<readonly number[]>([]);
  const known = [...keys.slice(0, count), ...Array.from({ length: count - keys.length }, nextKey)];
  if (keys.length !== count) setKeys(known);
  return { keys: known, drop: (at: number) => setKeys(known.filter((_, index) => index !== at)) };
}

/** Errors about all the filters of a group, such as their number. */
function GroupErrors({ path }: { path: string }) {
  const { errors } = useFilterContext();
  const messages = errors[path] ?? [];
  return messages.length === 0 ? null : (
    <p className="field-error" role="alert">
      {messages.join(' ')}
    </p>
  );
}

interface GroupProps {
  filters: readonly Filter[];
  onChange: (next: Filter[]) => void;
  joiner: 'and' | 'or';
  /** The path of the array in the errors of the API; empty for the outermost. */
  path: string;
  depth: number;
}

/** Filters one below the other, each a row or a group of its own. */
export function FilterGroup({ filters, onChange, joiner, path, depth }: GroupProps) {
  const { keys, drop } = useRowKeys(filters.length);
  const added = useRef<number | null>(null);
  const addButton = useRef<HTMLDivElement>(null);
  const prefix = path === '' ? '' : `${path}.`;
  const add = (filter: Filter) => {
    added.current = filters.length;
    onChange([...filters, filter]);
  };
  const remove = (at: number) => {
    drop(at);
    onChange(filters.filter((_, index) => index !== at));
    addButton.current?.querySelector('button')?.focus();
  };
  return (
    <>
      {filters.length > 0 && (
        <ol className="filter-rows">
          {filters.map((filter, index) => {
            const parts = {
              filter,
              path: `${prefix}${index}`,
              isNew: added.current === index,
              onChange: (next: Filter) => onChange(filters.map((each, at) => (at === index ? next : each))),
              onRemove: () => remove(index),
            };
            return (
              <li key={keys[index]}>
                {index > 0 && <span className="filter-joiner">{joiner}</span>}
                {groupOf(filter) && depth < MAX_DEPTH ? (
                  <InnerGroup {...parts} depth={depth} />
                ) : (
                  <FilterRow {...parts} />
                )}
              </li>
            );
          })}
        </ol>
      )}
      <GroupErrors path={path} />
      <div className="actions" ref={addButton}>
        <Button onClick={() => add(NEW_FILTER)}>Add filter</Button>
        {depth < MAX_DEPTH && (
          <Button kind="quiet" onClick={() => add(NEW_GROUP)}>
            Add group
          </Button>
        )}
      </div>
    </>
  );
}

function InnerGroup({
  filter,
  path,
  depth,
  onChange,
  onRemove,
}: {
  filter: Filter;
  path: string;
  depth: number;
  onChange: (next: Filter) => void;
  onRemove: () => void;
}) {
  const number = numberOf(path);
  return (
    <div className="filter-group" role="group" aria-label={`Group ${number}`}>
      <div className="filter-row">
        <div className="filter-inputs">
          <Select
            aria-label={`What must match in group ${number}`}
            value={filter.name}
            options={[
              { value: 'any', label: 'Any of these' },
              { value: 'all', label: 'All of these' },
            ]}
            onChange={(event) =>
              onChange({
                ...filter,
                name: event.target.value,
                predicate: event.target.value === 'any' ? 'or' : 'and',
              })
            }
          />
        </div>
        <Button kind="quiet" aria-label={`Remove group ${number}`} onClick={onRemove}>
          ✕
        </Button>
      </div>
      <FilterGroup
        filters={groupOf(filter) ?? []}
        onChange={(value) => onChange({ ...filter, value })}
        joiner={filter.name === 'any' ? 'or' : 'and'}
        path={`${path}.value`}
        depth={depth + 1}
      />
    </div>
  );
}
