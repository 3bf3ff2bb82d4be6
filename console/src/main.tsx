import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { onSessionEnded } from './api/client.ts';
import { createQueryClient } from './api/query-client.ts';
import { createConsoleRouter } from './router.tsx';
import { reloadOnMissingChunk } from './shell/missing-chunk.ts';
import { applyTheme, currentTheme } from './shell/theme.ts';
import './style.css';

// Libraries that add style elements give them the nonce of the page, which its policy requires.
setNonce(document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '');
applyTheme(currentTheme());
reloadOnMissingChunk();

const queryClient = createQueryClient();
const router = createConsoleRouter(queryClient);
onSessionEnded(() => {
  queryClient.clear();
  if (router.state.location.pathname.endsWith('/sign-in')) return;
  void router.navigate({ to: '/sign-in', search: { return_to: router.state.location.href } });
});

const root = document.getElementById('root');
if (!root) throw new Error('the page has no element #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
