import type { LaneAttachment, LaneMode, LaneReport } from './contract.ts';

/** Said here too, for the engine drops a workflow's static details when it continues as new. */
const SIGNALS = 'Signals: `pause`, `resume`, `drain`, `restart`.';

const modes: Record<LaneMode, string> = {
  running: 'running',
  paused: '**paused**: takes nothing new until the signal `resume`',
  draining: '**draining**: finishes what is claimed, takes nothing new until the signal `resume`',
};

function backlogOf(report: LaneReport): string {
  const parts = Object.entries(report.backlog).map(([name, count]) => `${name} ${count}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function providersOf(report: LaneReport): string[] {
  return Object.entries(report.providers).map(([name, { state, reason, retryAt }]) => {
    if (state === 'closed') return `- provider ${name}: works`;
    const why = [reason, retryAt && `next try ${retryAt}`].filter(Boolean).join('; ');
    return `- provider ${name}: **${state === 'open' ? 'held back' : 'being tried'}**${why ? ` (${why})` : ''}`;
  });
}

/** Markdown for an operator: where the lane is, what it does and what it waits for. */
export function describeLane(
  { kind, n }: LaneAttachment,
  mode: LaneMode,
  report: LaneReport | null,
  reportedAt: string | null,
): string {
  const head = `${kind === 'send' ? 'Sends messages' : 'Delivers webhooks'}, lane ${n}: ${modes[mode]}`;
  if (!report) return [head, '', '- waits for a sender process that is free', '', SIGNALS].join('\n');
  return [
    head,
    '',
    `- process ${report.processId} on ${report.host} (pid ${report.pid})`,
    `- loop: ${report.mode}, ${report.inFlight} in flight, ${report.handledTotal} handled`,
    `- rate: ${Math.round(report.ratePerSecond)} a second`,
    `- backlog: ${backlogOf(report)}`,
    ...providersOf(report),
    '',
    `Told at ${reportedAt ?? 'an unknown time'}; newer figures are in the pending activity's heartbeat details.`,
    SIGNALS,
  ].join('\n');
}
