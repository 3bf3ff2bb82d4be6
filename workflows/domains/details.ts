import type { DomainWatchState } from './contract.ts';

const phases: Record<DomainWatchState['phase'], (state: DomainWatchState) => string> = {
  registering: () => 'is registered with its provider',
  checking: () => 'looks at the DNS records',
  releasing: () => 'releases mail that waited',
  sleeping: ({ nextCheckAt }) => `sleeps until ${nextCheckAt}`,
  unregistering: () => 'was deleted, and is removed from its provider',
  done: () => 'was deleted',
};

function registrationLines({ registration, providerError }: DomainWatchState): string[] {
  if (registration === 'done') return [];
  return [
    registration === 'refused'
      ? `- the provider refuses the domain: ${providerError ?? ''}`
      : '- the provider has not registered the domain yet',
  ];
}

/** Describes the state of the watch in Markdown, for an operator. */
export function describeWatch(domainId: number, state: DomainWatchState): string {
  const { problems, failingSince, unansweredSince } = state;
  return [
    `Domain ${domainId} ${phases[state.phase](state)}.`,
    '',
    `- status: ${state.status}`,
    ...registrationLines(state),
    `- required records that are not right: ${problems.length === 0 ? 'none' : problems.join(', ')}`,
    ...(failingSince ? [`- wrong since: ${failingSince}`] : []),
    ...(unansweredSince ? [`- name servers silent since: ${unansweredSince}`] : []),
    `- in this run: ${state.checks} checks`,
    '',
    'The signal `recheck` checks the records now, and asks a provider that refused the domain again.',
  ].join('\n');
}
