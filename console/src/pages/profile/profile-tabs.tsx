import { TabLinks } from '../../ui/links.tsx';

export const ProfileTabs = () => (
  <TabLinks
    label="Profile"
    tabs={[
      { to: '/profile', text: 'Profile and security' },
      { to: '/sessions', text: 'Sessions' },
    ]}
  />
);
