import type { Schemas } from '../api/client.ts';
import { filterText, membersOf, type AudienceNames } from './filter-text.ts';

interface FilterListProps {
  filters: readonly Schemas['Filter'][];
  names: AudienceNames;
}

/** Filters of a segment in words, groups as lists in the list. */
export function FilterList({ filters, names }: FilterListProps) {
  if (filters.length === 0) return <p>No filters: all contacts.</p>;
  return (
    <ul className="filter-list">
      {filters.map((filter, index) => {
        const members = membersOf(filter);
        return (
          // Filters have no ids, and the list is only shown.
          <li key={index}>
            {members ? (
              <>
                {filter.name === 'any' ? 'any of these:' : 'all of these:'}
                <FilterList filters={members} names={names} />
              </>
            ) : (
              filterText(filter, names)
            )}
          </li>
        );
      })}
    </ul>
  );
}
