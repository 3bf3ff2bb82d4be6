import { useQuery } from '@tanstack/react-query';
import { api, callPage } from '../../../api/client.ts';
import { countText } from '../../../ui/details.tsx';
import { Notice } from '../../../ui/notice.tsx';
import { QueryView } from '../../../ui/query-view.tsx';
import { useFlowReport, type Flow } from '../flow-frame.tsx';
import type { Difference } from './difference.ts';
import type { PublishChoices } from './publish.ts';

const MAX_VERSIONS = 100;

const runsText = (count: number) => `${countText(count)} ${count === 1 ? 'run' : 'runs'}`;

/** What becomes of the runs under way, and the choice about them. */
export function RunsUnderWay({
  flow,
  difference,
  applyTo,
  onApplyTo,
}: {
  flow: Flow;
  difference: Difference;
  applyTo: PublishChoices['applyTo'];
  onApplyTo: (next: PublishChoices['applyTo']) => void;
}) {
  const { id } = flow;
  const query = useQuery({
    queryKey: ['flows', id, 'versions', 'under way'],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows/{id}/versions', {
          params: { path: { id }, query: { limit: MAX_VERSIONS } },
          signal,
        }),
      ),
  });
  return (
    <QueryView query={query}>
      {({ rows }) => {
        const followed = rows.filter(({ active_run_count: count }) => count !== 0);
        if (followed.length === 0) return <p>No run is under way.</p>;
        const texts = followed.map(({ number, active_run_count: count }) =>
          count === null
            ? `many runs follow version ${number}`
            : `${runsText(count)} ${count === 1 ? 'follows' : 'follow'} version ${number}`,
        );
        return (
          <Notice title="Runs under way">
            <p>Now, {new Intl.ListFormat('en').format(texts)}.</p>
            {difference.makesVersion ? (
              <Choice flow={flow} difference={difference} applyTo={applyTo} onApplyTo={onApplyTo} />
            ) : (
              <p>They continue as they are: the steps, the trigger and the goal stay the same.</p>
            )}
          </Notice>
        );
      }}
    </QueryView>
  );
}

const CHOICES = [
  {
    value: 'new',
    label: 'They finish on their version',
    hint: 'Contacts who enter from now on follow the new one.',
  },
  {
    value: 'waiting',
    label: 'They move to the new version',
    hint: 'Each continues from its current step. A wait that has begun ends as it was planned.',
  },
] as const;

function Choice({
  flow,
  difference: { removed },
  applyTo,
  onApplyTo,
}: {
  flow: Flow;
  difference: Difference;
  applyTo: PublishChoices['applyTo'];
  onApplyTo: (next: PublishChoices['applyTo']) => void;
}) {
  const { data: report } = useFlowReport(flow);
  const atRemoved = (report?.steps ?? []).reduce(
    (sum, step) => sum + (removed.has(step.step_id) ? (step.in_progress_count ?? 0) : 0),
    0,
  );
  return (
    <fieldset>
      <legend>What happens to them</legend>
      {CHOICES.map(({ value, label, hint }) => (
        <label key={value} className="checkbox">
          <input
            type="radio"
            name="apply_to"
            value={value}
            checked={applyTo === value}
            onChange={() => onApplyTo(value)}
          />
          <span>
            {label}
            <span className="hint">{hint}</span>
          </span>
        </label>
      ))}
      {applyTo === 'waiting' && atRemoved > 0 && (
        <p>
          {runsText(atRemoved)} {atRemoved === 1 ? 'is' : 'are'} at a step that is removed, and{' '}
          {atRemoved === 1 ? 'stays' : 'stay'} on the earlier version.
        </p>
      )}
    </fieldset>
  );
}
