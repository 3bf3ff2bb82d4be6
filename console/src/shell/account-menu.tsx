import { useNavigate } from '@tanstack/react-router';
import { Menu } from '../ui/menu.tsx';
import { useBrand } from './brand.ts';
import { openPalette } from './palette-state.ts';
import { signOut } from './sign-out.ts';
import { nextTheme, setTheme, useTheme } from './theme.ts';

const openPage = (url: string) => window.open(url, '_blank', 'noreferrer');

/** Actions of the user that are not about the brand. */
export function AccountMenu() {
  const { brandId, signedIn } = useBrand();
  const navigate = useNavigate();
  const theme = useTheme();
  const mailbox = signedIn.user.mailbox_url;
  const open = (path: string) => void navigate({ to: `/brands/${brandId}${path}` });
  return (
    <>
      <button type="button" className="button quiet" onClick={openPalette}>
        Search <kbd>Ctrl K</kbd>
      </button>
      <Menu
        label={signedIn.user.first_name || signedIn.user.email}
        className="button quiet"
        items={[
          { label: 'Profile and security', onSelect: () => open('/profile') },
          { label: 'Sessions', onSelect: () => open('/sessions') },
          { label: 'New brand', onSelect: () => void navigate({ to: '/new-brand' }) },
          ...(mailbox === null
            ? []
            : [{ label: 'Mailbox of this machine', onSelect: () => openPage(mailbox) }]),
          { label: `Theme: ${theme}`, onSelect: () => setTheme(nextTheme(theme)) },
          { label: 'Sign out', onSelect: () => void signOut() },
        ]}
      />
    </>
  );
}
