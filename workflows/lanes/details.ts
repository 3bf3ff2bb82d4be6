import type { LaneAttachment, LaneMode, LaneReport } from './contract.ts';

/** Repeats the static details, because the engine drops them when a workflow continues as new. */
const SIGNALS = 'Signals: `pause`, `resume`, `drain`, `restart`.';

const modes: Record<LaneMode, string> = {
  running: 'running',
  paused: '**paused**: takes nothing new until the signal `resume`',
  draining: '**draining**: finishes its claims and takes nothing new until the signal `resume`',
};

const inThousands = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** A time in UTC, with its date unless that is the day of the report. @param time in ISO 8601 */
function timeInWords(time: string, reportedAt: string | null): string {
  const [date = '', clock = ''] = time.split('T');
  const minutes = clock.slice(0, 5);
  return reportedAt?.startsWith(date) ? minutes : `${date} ${minutes}`;
}

function backlogOf(
  { backlog: { scheduled, ...backlog }, nextScheduledAt }: LaneReport,
  reportedAt: string | null,
): string {
  const parts = Object.entries(backlog).map(([name, count]) => `${name} ${count}`);
  const next = nextScheduledAt === undefined ? [] : [`next ${timeInWords(nextScheduledAt, reportedAt)}`];
  const later = scheduled ? [`${inThousands(scheduled)} scheduled`, ...next] : [];
  return [...parts, ...later].join(', ') || 'none';
}

function providersOf(report: LaneReport): string[] {
  return Object.entries(report.providers).map(([name, { state, reason, retryAt }]) => {
    if (state === 'closed') return `- provider ${name}: working`;
    const why = [reason, retryAt && `next attempt ${retryAt}`].filter(Boolean).join('; ');
    return `- provider ${name}: **${state === 'open' ? 'on hold' : 'on trial'}**${why ? ` (${why})` : ''}`;
  });
}

/** Describes the lane in Markdown, for an operator: its process, what it does and what it waits for. */
export function describeLane(
  { kind, n }: LaneAttachment,
  mode: LaneMode,
  report: LaneReport | null,
  reportedAt: string | null,
): string {
  const head = `${kind === 'send' ? 'Sends messages' : 'Delivers webhooks'}, lane ${n}: ${modes[mode]}`;
  if (!report) return [head, '', '- waits for a free sender process', '', SIGNALS].join('\n');
  return [
    head,
    '',
    `- process ${report.processId} on ${report.host} (pid ${report.pid})`,
    `- loop: ${report.mode}, ${report.inFlight} in flight, ${report.handledTotal} handled`,
    `- rate: ${Math.round(report.ratePerSecond)} a second`,
    `- backlog: ${backlogOf(report, reportedAt)}`,
    ...providersOf(report),
    '',
    `Reported at ${reportedAt ?? 'an unknown time'}; newer figures are in the heartbeat details of the pending activity.`,
    SIGNALS,
  ].join('\n');
}
