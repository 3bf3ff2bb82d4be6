import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { StatusBadge } from '../../ui/details.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { TabLinks, useId } from '../../ui/links.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { CampaignActions } from './campaign-actions.tsx';
import { CampaignState } from './campaign-state.tsx';
import { useUnpublishedChanges, type UnpublishedChanges } from './unpublished-changes.ts';
import { isUnderWay } from './waiting.ts';

export type Campaign = Schemas['Campaign'];

function useCampaign(id: number): UseQueryResult<Campaign> {
  return useQuery({
    queryKey: ['campaigns', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/campaigns/{id}', { params: { path: { id } }, signal })),
    refetchInterval: (query) => (isUnderWay(query.state.data) ? POLL_MS : false),
  });
}

/** @param onChanges is what an editor calls with whether it has changes, and with null when it is closed */
type Children = (campaign: Campaign, onChanges: (changes: UnpublishedChanges | null) => void) => ReactNode;

/** What all pages of one campaign have in common: its name, its state, what can be done, and the way to the others. */
export function CampaignFrame({ children }: { children: Children }) {
  const query = useCampaign(useId('campaignId'));
  return (
    <QueryView query={query}>
      {(campaign) => <Frame key={campaign.id} {...{ campaign, children }} />}
    </QueryView>
  );
}

function Frame({ campaign, children }: { campaign: Campaign; children: Children }) {
  const { id } = campaign;
  const [changes, onChanges] = useUnpublishedChanges(campaign);
  return (
    <>
      <PageHeader title={campaign.name} actions={<CampaignActions campaign={campaign} changes={changes} />}>
        <div className="actions">
          <StatusBadge status={campaign.data.outcome ?? campaign.status} />
          {campaign.approval_state !== 'not_required' && (
            <span className="muted">approval: {campaign.approval_state.replaceAll('_', ' ')}</span>
          )}
          <span className="muted">
            {campaign.channel} campaign {id}
          </span>
        </div>
      </PageHeader>
      <CampaignState campaign={campaign} />
      {campaign.status !== 'draft' && (
        <TabLinks
          label="Campaign"
          tabs={[
            { to: `/campaigns/${id}`, text: 'Campaign' },
            { to: `/campaigns/${id}/recipients`, text: 'Recipients' },
          ]}
        />
      )}
      {children(campaign, onChanges)}
    </>
  );
}
