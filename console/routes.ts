// The screens and their addresses. The address of a screen is the fragment of the page's, so that
// the server has one page only: `#/hosts/cmp1?tab=devices`.

import { type ListName, lists } from '#core/contracts/api/lists/lists.ts';
import { present } from '#core/shapes/derive/present.ts';

/** The lists that have a screen. */
export type ListScreenName = {
  [Name in ListName]: (typeof lists)[Name] extends { readonly screen: string } ? Name : never;
}[ListName];

const listScreens = (Object.keys(lists) as ListName[]).flatMap((name) => {
  const row: (typeof lists)[ListName] = lists[name];
  if (!('screen' in row)) return [];
  return [{ name: name as ListScreenName, title: row.screen, isForOperators: true }];
});

export const screens = [
  { name: 'overview', title: 'Overview', isForOperators: true },
  { name: 'fleet', title: 'Fleet', isForOperators: true },
  { name: 'hosts', title: 'Hosts', isForOperators: true },
  ...listScreens,
  { name: 'requests', title: 'Requests', isForOperators: false },
  { name: 'history', title: 'History', isForOperators: false },
  { name: 'capacity', title: 'Capacity', isForOperators: false },
  { name: 'usage', title: 'Usage', isForOperators: false },
  { name: 'profiles', title: 'Profiles', isForOperators: false },
] as const;
export type ScreenName = (typeof screens)[number]['name'];

/** Screens of one thing each, which are in no list of screens. */
type PageName = 'devices' | 'servers';

const withId: ReadonlySet<string | undefined> = new Set([
  'hosts',
  'devices',
  'servers',
  'requests',
]);

export interface Route {
  readonly screen: ScreenName | PageName;
  /** The host, device, server or request of the screen. */
  readonly id?: string;
  readonly filters: Readonly<Record<string, string>>;
}

/** All screens take the route, of which they read the id and the filters. */
export interface ScreenProps {
  readonly route: Route;
}

/** Undefined for an address that no screen has. */
export function parseRoute(fragment: string): Route | undefined {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split('?');
  const [screen, id, ...more] = path.split('/');
  const filters = Object.fromEntries(new URLSearchParams(query));
  const isScreen = screens.some(({ name }) => name === screen);
  if (more.length > 0 || !(id ? withId.has(screen) : isScreen)) return undefined;
  const named = decoded(id);
  return { screen: screen as Route['screen'], ...present({ id: named || undefined }), filters };
}

function decoded(segment: string | undefined): string | undefined {
  try {
    return segment && decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

export function addressOf(
  screen: Route['screen'],
  id?: string,
  filters: Readonly<Record<string, string | undefined>> = {},
): string {
  const parameters = Object.entries(filters).filter((pair): pair is [string, string] => !!pair[1]);
  const query = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
  return `#/${screen}${id === undefined ? '' : `/${encodeURIComponent(id)}`}${query}`;
}
