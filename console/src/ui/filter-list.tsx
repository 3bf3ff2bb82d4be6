import type { ReactNode } from 'react';
import type { AudienceNames } from '../api/choices.ts';
import type { Schemas } from '../api/client.ts';
import { filterText, membersOf } from './filter-text.ts';

type Filter = Schemas['Filter'];

interface FilterListProps {
  filters: readonly Filter[];
  names: AudienceNames;
  /** Something to show with each filter. @param path as in the API: `filters.2.value.0` */
  noteOf?: ((filter: Filter, path: string) => ReactNode) | undefined;
  path?: string;
}

/** Filters of a segment in words, groups as lists in the list. */
export function FilterList({ filters, names, noteOf, path = 'filters' }: FilterListProps) {
  if (filters.length === 0) return <p>No filters: all contacts.</p>;
  return (
    <ul className="filter-list">
      {filters.map((filter, index) => {
        const members = membersOf(filter);
        const at = `${path}.${index}`;
        const text = filter.name === 'any' ? 'any of these:' : 'all of these:';
        return (
          // Filters have no ids, and the list is only shown.
          <li key={index}>
            {members ? text : filterText(filter, names)} {noteOf?.(filter, at)}
            {members && <FilterList filters={members} names={names} noteOf={noteOf} path={`${at}.value`} />}
          </li>
        );
      })}
    </ul>
  );
}
