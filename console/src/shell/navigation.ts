export interface NavigationItem {
  /** Below the brand. */
  to: string;
  text: string;
  /** Only for owners and admins: members get 403. */
  managersOnly?: boolean;
}

/** Every page in the sidebar and the command palette. */
export const navigation: readonly { title: string; items: readonly NavigationItem[] }[] = [
  {
    title: 'Sending',
    items: [
      { to: '', text: 'Overview' },
      { to: '/messages', text: 'Messages' },
      { to: '/campaigns', text: 'Campaigns' },
      { to: '/flows', text: 'Flows' },
      { to: '/templates', text: 'Templates' },
      { to: '/files', text: 'Files' },
    ],
  },
  {
    title: 'Audience',
    items: [
      { to: '/contacts', text: 'Contacts' },
      { to: '/lists', text: 'Lists' },
      { to: '/segments', text: 'Segments' },
      { to: '/imports', text: 'Imports' },
      { to: '/exports', text: 'Exports' },
      { to: '/suppressions', text: 'Suppressions' },
      { to: '/validations', text: 'Validations' },
    ],
  },
  { title: 'Inbox', items: [{ to: '/inbox', text: 'Conversations' }] },
  {
    title: 'Developers',
    items: [
      { to: '/domains', text: 'Domains' },
      { to: '/webhooks', text: 'Webhooks', managersOnly: true },
      { to: '/api-keys', text: 'API keys', managersOnly: true },
      { to: '/mcp', text: 'Assistants' },
    ],
  },
  {
    title: 'Settings',
    items: [
      { to: '/brand', text: 'Brand' },
      { to: '/account', text: 'Account' },
      { to: '/wallet', text: 'Wallet', managersOnly: true },
      { to: '/team', text: 'Team', managersOnly: true },
      { to: '/audit', text: 'Audit log', managersOnly: true },
    ],
  },
];
