import { TabLinks } from '../../ui/links.tsx';

export const InboxTabs = () => (
  <TabLinks
    label="Inbox"
    tabs={[
      { to: '/inbox', text: 'Conversations' },
      { to: '/inbox/quarantine', text: 'Quarantine' },
      { to: '/inbox/blocks', text: 'Blocked senders' },
      { to: '/inbox/inboxes', text: 'Inboxes' },
    ]}
  />
);
