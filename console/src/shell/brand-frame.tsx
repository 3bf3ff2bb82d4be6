import { QueryClientProvider } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { Suspense, useLayoutEffect, useMemo } from 'react';
import { setTenant } from '../api/client.ts';
import { createQueryClient } from '../api/query-client.ts';
import { signedInQuery } from '../api/session.ts';
import { Select } from '../ui/field.tsx';
import { Loading } from '../ui/query-view.tsx';
import { dropUndo } from '../ui/toasts.tsx';
import { AccountMenu } from './account-menu.tsx';
import { useBrand } from './brand.ts';
import { navigation } from './navigation.ts';
import { OwnInvitations } from './own-invitations.tsx';
import { Palette } from './palette.tsx';

/** The frame of all pages about a brand: the navigation on the left, the user and the brand above. */
export function BrandFrame() {
  const { brandId, account, signedIn } = useBrand();
  // What was loaded for one brand must never be shown for another; a renewed session must not throw it away.
  const queryClient = useMemo(() => {
    const client = createQueryClient();
    client.setQueryData(signedInQuery.queryKey, signedIn);
    return client;
  }, [brandId]);
  // Not before: while its code loads, the former brand is still shown and used. Queries begin after this.
  useLayoutEffect(() => {
    setTenant({ accountId: account.id, brandId });
    // Later, the action would affect another brand.
    return dropUndo;
  }, [account.id, brandId]);
  return (
    <QueryClientProvider client={queryClient}>
      <div className="frame" key={brandId}>
        <a className="skip" href="#content">
          Skip to the content
        </a>
        <TopBar />
        <Sidebar />
        <main id="content" tabIndex={-1}>
          <OwnInvitations />
          <Suspense fallback={<Loading />}>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Palette />
    </QueryClientProvider>
  );
}

function TopBar() {
  const { brandId, signedIn } = useBrand();
  const navigate = useNavigate();
  const options = signedIn.accounts.flatMap(({ name, brands }) =>
    brands.map((brand) => ({
      value: String(brand.id),
      label: `${brand.company_name || `Brand ${brand.id}`} · ${name}`,
    })),
  );
  return (
    <header className="topbar">
      <Link to={`/brands/${brandId}`} className="mark">
        Carillon
      </Link>
      <Select
        aria-label="Brand"
        value={String(brandId)}
        options={options}
        onChange={(event) => void navigate({ to: `/brands/${event.target.value}` })}
      />
      <span className="grow" />
      <AccountMenu />
    </header>
  );
}

function Sidebar() {
  const { brandId, manages } = useBrand();
  return (
    <nav className="sidebar" aria-label="Console">
      {navigation.map(({ title, items }) => {
        const shown = items.filter((item) => manages || item.managersOnly !== true);
        if (shown.length === 0) return null;
        return (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {shown.map(({ to, text }) => (
                <li key={to}>
                  <Link
                    to={`/brands/${brandId}${to}`}
                    activeOptions={{ exact: to === '', includeSearch: false }}
                  >
                    {text}
                  </Link>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </nav>
  );
}
