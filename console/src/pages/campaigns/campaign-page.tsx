import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import { api, call } from '../../api/client.ts';
import { areFilters } from '../../editors/filters/read-filters.ts';
import { Card, countText, DetailList, Time } from '../../ui/details.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { CampaignContent } from './campaign-content.tsx';
import { CampaignFrame, type Campaign } from './campaign-frame.tsx';
import { CampaignReport } from './campaign-report.tsx';
import { CampaignProgress } from './campaign-state.tsx';
import { stageOf } from './editor/content.ts';

const CampaignEditor = lazy(async () => ({
  default: (await import('./editor/campaign-editor.tsx')).CampaignEditor,
}));

/** Everything about a campaign: while it may change, its editor; once it is sent, its progress and report. */
export function CampaignPage() {
  return <CampaignFrame>{(campaign, onChanges) => <Parts {...{ campaign, onChanges }} />}</CampaignFrame>;
}

function Parts({ campaign, onChanges }: Omit<Parameters<typeof CampaignEditor>[0], 'stage'>) {
  const stage = stageOf(campaign);
  const hasRecipients = campaign.data.progress.audience_count > 0;
  const isOnItsWay = campaign.status === 'active' || hasRecipients;
  const progress = useShownAfterEditor(stage !== null, isOnItsWay);
  return (
    <>
      {isOnItsWay && (
        <div ref={progress} tabIndex={-1}>
          <Card title="Progress">
            {hasRecipients ? (
              <>
                <CampaignProgress campaign={campaign} />
                <Counts campaign={campaign} />
              </>
            ) : (
              <p className="muted">No recipients yet.</p>
            )}
          </Card>
        </div>
      )}
      {stage && (
        <Suspense
          fallback={
            <div className="loading" role="status">
              Loading…
            </div>
          }
        >
          <CampaignEditor {...{ campaign, stage, onChanges }} />
        </Suspense>
      )}
      {hasRecipients && <CampaignReport campaign={campaign} />}
      {stage !== 'draft' && stage !== 'waiting' && <CampaignFacts campaign={campaign} />}
      {!stage && <CampaignContent campaign={campaign} />}
    </>
  );
}

/** The button that sends is at the end of the editor, which then closes: the focus moves to the progress. */
function useShownAfterEditor(hasEditor: boolean, isShown: boolean) {
  const shown = useRef<HTMLDivElement>(null);
  const hadEditor = useRef(hasEditor);
  useEffect(() => {
    if (hadEditor.current && !hasEditor && isShown) {
      globalThis.scrollTo({ top: 0 });
      shown.current?.focus({ preventScroll: true });
    }
    hadEditor.current = hasEditor;
  }, [hasEditor, isShown]);
  return shown;
}

const COUNTS = ['sent', 'failed', 'skipped', 'unknown', 'canceled', 'remaining'] as const;

/** Each recipient is in one of these counts; each leads to its recipients. */
function Counts({ campaign }: { campaign: Campaign }) {
  return (
    <div className="figures">
      {COUNTS.map((state) => (
        <div key={state} className="figure">
          <strong>{countText(campaign.data.progress[`${state}_count`])}</strong>
          <BrandLink to={`/campaigns/${campaign.id}/recipients`} search={{ state }}>
            {state}
          </BrandLink>
        </div>
      ))}
    </div>
  );
}

function CampaignFacts({ campaign }: { campaign: Campaign }) {
  const { trigger, data } = campaign;
  const { contact_list_id: listId, segment_id: segmentId } = trigger;
  const { filters, inert_filters: inert } = trigger.data;
  const names = useAudienceNames();
  const { throttle_per_minute: throttle, send_at_local_time: local, ab } = data.options;
  const excluded = [
    ...idsOf(trigger.data.exclude_list_ids).map((id) => `list ${id}`),
    ...idsOf(trigger.data.exclude_segment_ids).map((id) => `segment ${id}`),
  ];
  return (
    <Card title="Audience and options">
      <DetailList
        items={[
          ['List', listId === null ? null : <AudienceLink key="list" of="lists" id={listId} />],
          [
            'Segment',
            segmentId === null ? null : <AudienceLink key="segment" of="segments" id={segmentId} />,
          ],
          [
            'Filters',
            areFilters(filters) && filters.length > 0 ? (
              <FilterList key="filters" filters={filters} names={names} />
            ) : null,
          ],
          ...(inert === undefined
            ? []
            : [['Filters without effect', 'stored before campaigns had filters'] as const]),
          ['Excluded', excluded.join(', ')],
          [
            'Scheduled for',
            campaign.scheduled_at && <Time key="scheduled" at={campaign.scheduled_at} full />,
          ],
          ['Maximum per minute', throttle ? countText(throttle) : null],
          ['Local time', local === true ? 'in the time zone of each recipient' : null],
          ['A/B test', ab ? `${ab.variants.length} variants, decided by ${ab.by}` : null],
          ['Created', <Time key="created" at={campaign.created_at} full />],
          ['Changed', <Time key="changed" at={campaign.updated_at} full />],
        ]}
      />
    </Card>
  );
}

const idsOf = (ids: unknown): number[] => (Array.isArray(ids) ? ids.map(Number) : []);

/** The audience by its name; by its number until that is loaded, or if it is gone. */
function AudienceLink({ of, id }: { of: 'lists' | 'segments'; id: number }) {
  const params = { path: { id } };
  const { data } = useQuery({
    // The pages of lists and segments keep them under `[of, id]` in another form, with their ETags.
    queryKey: [of, id, 'name'],
    queryFn: ({ signal }): Promise<{ name: string }> =>
      of === 'lists'
        ? call(() => api.GET('/v1/my/lists/{id}', { params, signal }))
        : call(() => api.GET('/v1/my/segments/{id}', { params, signal })),
  });
  return <BrandLink to={`/${of}/${id}`}>{data?.name ?? String(id)}</BrandLink>;
}
