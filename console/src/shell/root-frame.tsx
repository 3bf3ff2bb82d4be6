import { Outlet } from '@tanstack/react-router';
import { ConfirmPassword } from './confirm-password.tsx';
import { ToastList } from '../ui/toasts.tsx';

/** What is shown above every page. */
export function RootFrame() {
  return (
    <>
      <Outlet />
      <ConfirmPassword />
      <ToastList />
    </>
  );
}
