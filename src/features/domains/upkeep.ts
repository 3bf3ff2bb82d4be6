import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { domainSource } from './workflow.ts';

export const domainsUpkeep: Upkeep = { expectedWorkflows: [domainSource] };
