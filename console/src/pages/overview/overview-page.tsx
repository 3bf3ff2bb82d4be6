import { PageHeader } from '../../ui/list-page.tsx';

export function OverviewPage() {
  return <PageHeader title="Overview" />;
}
