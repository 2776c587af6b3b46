import './styles/tokens.css';
import './styles/base.css';
import './styles/shell.css';
import './styles/conversation.css';
import './styles/forms.css';
import './styles/views.css';
import './styles/inside.css';

import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

import { App } from './app.tsx';
import { live } from './live/live-client.ts';
import { logInByFragment } from './server/request.ts';
import { applySettings } from './settings.ts';

applySettings();
await logInByFragment();
live.start();

// Live messages say what has changed, so nothing is fetched again when the window gets the focus.
const client = new QueryClient({
  defaultOptions: { queries: { refetchOnWindowFocus: false, retry: 1, staleTime: 2000 } },
});

const root = document.getElementById('page');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
