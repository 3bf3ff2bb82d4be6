import type { ReactNode } from 'react';
import type { Page } from '../api/client.ts';
import { Button } from './button.tsx';
import { Field, Select, TextInput } from './field.tsx';
import { PAGE_SIZE, type ListState } from './list-search.ts';

export interface Filter {
  /** The name of the query parameter. */
  name: string;
  label: string;
  /** The values to choose from; without them, text is typed. */
  options?: readonly (string | { value: string; label: string })[];
  /** The choice that means no value; by default "Any". */
  any?: string;
  type?: 'text' | 'email' | 'search' | 'number' | 'date';
}

/** The inputs above a list. A typed value counts from Enter, or when the input loses the focus. */
export function Filters({ filters, list }: { filters: readonly Filter[]; list: ListState }) {
  const isFiltered = filters.some(({ name }) => list.search[name] !== undefined);
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {filters.map(({ name, label, options, any = 'Any', type = 'text' }) => {
        const value = list.search[name] ?? '';
        const apply = (next: string) => next.trim() !== value && list.set({ [name]: next.trim() });
        return (
          <Field key={name} label={label}>
            {options ? (
              <Select
                value={value}
                options={[{ value: '', label: any }, ...options]}
                onChange={(event) => apply(event.target.value)}
              />
            ) : (
              <TextInput
                key={value}
                type={type}
                placeholder={type === 'date' ? undefined : 'Press Enter'}
                defaultValue={value}
                onBlur={(event) => apply(event.target.value)}
                onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
              />
            )}
          </Field>
        );
      })}
      {isFiltered && (
        <Button
          kind="quiet"
          onClick={() => list.set(Object.fromEntries(filters.map(({ name }) => [name, undefined])))}
        >
          Clear filters
        </Button>
      )}
    </form>
  );
}

const counted = new Intl.NumberFormat();

/** The position of the page in the list, and the buttons to the others. */
export function Pager({ list, page }: { list: ListState; page: Page<unknown> | undefined }) {
  if (!page) return null;
  if (list.after !== null || isCutShort(page)) return <SearchPager list={list} page={page} />;
  if (page.pages <= 1 && list.page === 1) {
    return page.rows.length > 0 ? <p className="pager muted">{counted.format(page.total)} in all</p> : null;
  }
  const first = (list.page - 1) * PAGE_SIZE + 1;
  const go = (next: number) => list.set({ page: next === 1 ? undefined : String(next) });
  return (
    <nav className="pager" aria-label="Pages">
      <Button disabled={list.page <= 1} onClick={() => go(list.page - 1)}>
        Previous
      </Button>
      <span>
        {counted.format(first)} to {counted.format(first + page.rows.length - 1)} of{' '}
        {page.estimated && 'about '}
        {counted.format(page.total)}
      </span>
      <Button disabled={list.page >= page.pages} onClick={() => go(list.page + 1)}>
        Next
      </Button>
    </nav>
  );
}

/** Whether a filter has searched only a part of the list. */
export const isCutShort = ({ rows, after }: Page<unknown>): boolean =>
  after !== null && rows.length < PAGE_SIZE;

/** Continues a search that goes through the list part by part, newest first. */
function SearchPager({ list, page }: { list: ListState; page: Page<unknown> }) {
  const { after } = page;
  return (
    <nav className="pager" aria-label="Pages">
      {list.after !== null && (
        <Button onClick={() => list.set({ after: undefined })}>Back to the newest</Button>
      )}
      <span>
        {counted.format(page.rows.length)} found in this part
        {after === null ? ', which is the last.' : '. There may be older ones.'}
      </span>
      {after !== null && <Button onClick={() => list.set({ after })}>Search older</Button>}
    </nav>
  );
}

/** The title of a page, with what can be done there. */
export function PageHeader({
  title,
  actions,
  children,
}: {
  title: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}) {
  return (
    <header className="page-header">
      <div>
        <h1>{title}</h1>
        {children}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </header>
  );
}
