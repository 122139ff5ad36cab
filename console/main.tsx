// The console: the page by which operators look at accelerators and act on them.
//
// api/      asks the API: one request, a list with all its pages, and again every few seconds.
// session/  who is signed in, the sign-in, and whether the API answers.
// parts/    what all screens are made of.
// The other folders have one screen each. A screen has its data from parts/use-live.ts, and its
// actions from parts/dialog/action.ts. All elements are the browser's own; page.css lists their
// styles.

import { render } from 'preact';
import { App } from './app.tsx';
import './page.css';

const root = document.querySelector('#root');
if (root) render(<App />, root);
