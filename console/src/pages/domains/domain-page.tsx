import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId, useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { RecordList } from './record-list.tsx';
import { isSettled, RECORDS_POLL_MS, wrongRecords, zoneOf, type Domain } from './records.ts';

/** One domain: the records to publish, and whether the DNS has them. */
export function DomainPage() {
  const id = useId('domainId');
  const query = useQuery({
    queryKey: ['domains', id],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/domains/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data && isSettled(state.data) ? false : RECORDS_POLL_MS),
  });
  return (
    <QueryView query={query}>
      {(domain) => (
        <>
          <PageHeader title={domain.name} actions={<Actions domain={domain} />}>
            <StatusBadge status={domain.status} />
          </PageHeader>
          <State domain={domain} />
          <Card title="About">
            <DetailList
              items={[
                ['Provider', domain.provider],
                ['Added', <Time key="added" at={domain.created_at} full />],
                ['Verified', <Time key="verified" at={domain.verified_at} full />],
              ]}
            />
          </Card>
          <Records domain={domain} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ domain: { id, name } }: { domain: Domain }) {
  const open = useOpen();
  const path = { id };
  const recheck = useAction({
    work: () => call(() => api.POST('/v1/my/domains/{id}/recheck', { params: { path }, body: {} })),
    done: 'The records are being checked. The page shows the result as soon as it is there.',
    refresh: ['domains'],
  });
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/domains/{id}', { params: { path } })),
    done: `${name} is deleted.`,
    refresh: [],
    onDone: () => open('/domains'),
  });
  return (
    <>
      <Button kind="primary" busy={recheck.busy} onClick={() => recheck.run()}>
        Check now
      </Button>
      <WorkflowLink id={`domain/${id}`} />
      <ConfirmButton
        label="Delete"
        title={`Delete ${name}?`}
        confirm="Delete domain"
        busy={remove.busy}
        onConfirm={() => remove.run()}
      >
        <p>
          Mail that waits to be sent from this domain fails, campaigns that use it are paused, and its inboxes
          refuse mail. If you add the domain later, it gets new DNS records.
        </p>
      </ConfirmButton>
    </>
  );
}

function State({ domain }: { domain: Domain }) {
  const wrong = wrongRecords(domain).length;
  if (domain.provider_error !== null) {
    return (
      <Notice tone="bad" title="The provider does not accept this domain">
        <p>{domain.provider_error}</p>
        <p>Carillon asks the provider again once a day, and when you press “Check now”.</p>
      </Notice>
    );
  }
  if (domain.status === 'verified') {
    return wrong === 0 ? (
      <Notice tone="good" title="Verified">
        <p>You can send from every address at this domain. Carillon checks the records every six hours.</p>
      </Notice>
    ) : (
      <Notice
        tone="warn"
        title={`Verified, but ${wrong === 1 ? 'a required record is' : `${wrong} required records are`} wrong`}
      >
        <p>
          Put back the records marked below. If they stay wrong, the domain loses its verification, and its
          mail waits for at most 72 hours.
        </p>
      </Notice>
    );
  }
  if (domain.status === 'failed') {
    return (
      <Notice tone="bad" title="Not verified">
        <p>
          The required records were not found in time, or disappeared. Compare the records below with those at
          your DNS provider, then press “Check now”. Carillon also looks again by itself.
        </p>
        <p>
          <BrandLink to="/messages" search={{ status: 'held' }}>
            Messages that are held
          </BrandLink>
        </p>
      </Notice>
    );
  }
  return (
    <Notice tone="busy" title="Waiting for the DNS records">
      <p>
        Add the records below at your DNS provider. Carillon looks for them after a few minutes, then every 15
        minutes and later every hour, for three days. This page updates by itself.
      </p>
    </Notice>
  );
}

function Records({ domain }: { domain: Domain }) {
  const records = domain.dns_records;
  return (
    <Card
      title="DNS records"
      actions={records && <CopyButton text={zoneOf(records)} label="Copy all as a zone file" />}
    >
      {records === null ? (
        <p className="muted">
          The provider is preparing the records of this domain. They appear here within a few minutes.
        </p>
      ) : (
        <RecordList domain={domain} records={records} />
      )}
    </Card>
  );
}
