import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Card, DetailList, StatusBadge, Time, countText } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { accountQuery } from './account-query.ts';
import { AccountSettings } from './account-settings.tsx';

/** What the account may do, and the defaults of its messages. */
export function AccountPage() {
  const query = useQuery(accountQuery);
  return (
    <>
      <PageHeader title="Account" />
      <QueryView query={query}>
        {(account) => (
          <div className="grid">
            <PlanCard account={account} />
            <CapabilitiesCard account={account} />
            <AccountSettings account={account} />
          </div>
        )}
      </QueryView>
    </>
  );
}

function PlanCard({ account }: { account: Schemas['Account'] }) {
  const { manages } = useBrand();
  const sandbox = account.using_sandbox
    ? `${countText(account.sandbox_sends_remaining)} of ${countText(account.sandbox_monthly_cap)} left this month`
    : null;
  return (
    <Card title="Plan">
      <DetailList
        items={[
          ['Plan', account.billing.plan_name],
          ['Tier', <StatusBadge key="tier" status={account.account_tier} tone="quiet" />],
          ['Account id', account.id],
          ['Can send', account.can_send ? 'Yes' : 'No: the overview says why'],
          ['Sandbox', sandbox],
          ['Sandbox sender', account.using_sandbox ? account.sandbox_email : null],
          ['Emails sent', countText(account.billing.lifetime.email_sent)],
          ['SMS sent', countText(account.billing.lifetime.sms_sent)],
          ['Since', <Time key="since" at={account.created_at} full />],
        ]}
      />
      <div className="actions">
        {account.using_sandbox && <BrandLink to="/domains">Add a domain to leave the sandbox</BrandLink>}
        {manages && <BrandLink to="/wallet">Wallet and spending</BrandLink>}
      </div>
    </Card>
  );
}

function CapabilitiesCard({ account }: { account: Schemas['Account'] }) {
  return (
    <Card title="What the account may do">
      <DetailList
        items={Object.entries(account.capabilities).map(([name, on]) => [
          name.replaceAll('_', ' '),
          <StatusBadge key={name} status={on ? 'on' : 'off'} tone={on ? 'good' : 'quiet'} />,
        ])}
      />
      <p className="hint">Only an operator of this installation can change these and the plan.</p>
    </Card>
  );
}
