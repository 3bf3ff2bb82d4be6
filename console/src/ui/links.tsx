/** Links to pages of the current brand. */
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useBrand } from '../shell/brand.ts';
import type { ListSearch } from './list-search.ts';
import { useStillShown } from './still-shown.ts';

interface BrandLinkProps {
  /** The path below the brand, such as `/messages/12`. */
  to: string;
  search?: ListSearch;
  className?: string;
  children: ReactNode;
}

export function BrandLink({ to, search, className, children }: BrandLinkProps) {
  const { brandId } = useBrand();
  return (
    <Link to={`/brands/${brandId}${to}`} search={search ?? {}} {...(className ? { className } : {})}>
      {children}
    </Link>
  );
}

/**
 * Returns a function that opens a page of the current brand. It does nothing once the user has left the component, so
 * that what ends late, such as the creation of a resource, does not lead away from another page.
 */
export function useOpen(): (to: string, search?: ListSearch) => void {
  const { brandId } = useBrand();
  const navigate = useNavigate();
  const isStillShown = useStillShown();
  return (to, search) => {
    if (isStillShown()) void navigate({ to: `/brands/${brandId}${to}`, search: search ?? {} });
  };
}

/** Returns the number in the path of the page, such as the id of a message. */
export function useId(name: string): number {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  return Number(params[name]);
}

/** Pages that belong together, as tabs that are links. */
export function TabLinks({ label, tabs }: { label: string; tabs: readonly { to: string; text: string }[] }) {
  const { brandId } = useBrand();
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ to, text }) => (
        <Link key={to} to={`/brands/${brandId}${to}`} activeOptions={{ exact: true, includeSearch: false }}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
