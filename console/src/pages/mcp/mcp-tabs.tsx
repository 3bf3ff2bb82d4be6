import { useBrand } from '../../shell/brand.ts';
import { TabLinks } from '../../ui/links.tsx';

const TABS = [
  { to: '/mcp', text: 'Connected' },
  { to: '/mcp/calls', text: 'Calls' },
];

/** The log of calls is for owners: the API refuses it to others. */
export function McpTabs() {
  return useBrand().role === 'owner' ? <TabLinks label="Assistants" tabs={TABS} /> : null;
}
