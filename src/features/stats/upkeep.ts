import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { statsComparison } from './comparison.ts';
import { olderMessages } from './older-messages.ts';

export const statsUpkeep: Upkeep = { tasks: [olderMessages, statsComparison] };
