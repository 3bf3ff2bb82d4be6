/** What other features call. It imports nothing of contacts, whose service imports it. */
export { compileFilters, loadConditions, segmentCondition } from './conditions.ts';
export { type ContactFacts, matches } from './memory.ts';
