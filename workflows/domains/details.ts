import type { DomainWatchState } from './contract.ts';

const phases: Record<DomainWatchState['phase'], (state: DomainWatchState) => string> = {
  checking: () => 'looks at the DNS records',
  releasing: () => 'releases mail that waited',
  sleeping: ({ nextCheckAt }) => `sleeps until ${nextCheckAt}`,
  done: () => 'was deleted',
};

/** Describes the watch in Markdown, for an operator. */
export function describeWatch(domainId: number, state: DomainWatchState): string {
  const { problems, failingSince, unansweredSince } = state;
  return [
    `Domain ${domainId} ${phases[state.phase](state)}.`,
    '',
    `- status: ${state.status}`,
    `- required records that are not right: ${problems.length === 0 ? 'none' : problems.join(', ')}`,
    ...(failingSince ? [`- wrong since: ${failingSince}`] : []),
    ...(unansweredSince ? [`- name servers silent since: ${unansweredSince}`] : []),
    `- in this run: ${state.checks} checks`,
    '',
    'The signal `recheck` checks the records now.',
  ].join('\n');
}
