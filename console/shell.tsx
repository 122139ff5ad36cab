// The frame of all screens: the user, the links to the screens, and notices for all of them.

import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CapacityScreen } from './capacity/capacity.tsx';
import { DeviceScreen } from './devices/device.tsx';
import { FleetScreen } from './fleet/fleet.tsx';
import { HistoryScreen } from './history/history.tsx';
import { HostScreen } from './hosts/host.tsx';
import { HostsScreen } from './hosts/hosts.tsx';
import { IncidentCount } from './incidents/incident-count.tsx';
import { IncidentsScreen } from './incidents/incidents.tsx';
import { OutageBanner } from './outage-banner.tsx';
import { OverviewScreen } from './overview/overview.tsx';
import { ListScreen } from './parts/list/list-screen.tsx';
import { Notice } from './parts/notice.tsx';
import { Screen } from './parts/screen.tsx';
import { ProfilesScreen } from './profiles/lazy-profiles.tsx';
import { RequestScreen } from './requests/request.tsx';
import { RequestsScreen } from './requests/requests.tsx';
import { ServerScreen } from './requests/server.tsx';
import {
  addressOf,
  type ListScreenName,
  parseRoute,
  type Route,
  type ScreenName,
  type ScreenProps,
  screens,
} from './routes.ts';
import { Search } from './search/palette.tsx';
import { useSession } from './session/session.ts';
import { ThemeChoice } from './theme.tsx';
import { UsageScreen } from './usage/usage.tsx';

const components: Readonly<Record<OwnScreenName, ComponentType<ScreenProps>>> & {
  readonly [Name in Route['screen']]?: ComponentType<ScreenProps>;
} = {
  overview: OverviewScreen,
  fleet: FleetScreen,
  hosts: HostsScreen,
  incidents: IncidentsScreen,
  requests: RequestsScreen,
  history: HistoryScreen,
  capacity: CapacityScreen,
  usage: UsageScreen,
  profiles: ProfilesScreen,
};

/** The screens of one thing each. */
const pages: Readonly<Partial<Record<Route['screen'], ComponentType<ScreenProps>>>> = {
  hosts: HostScreen,
  devices: DeviceScreen,
  servers: ServerScreen,
  requests: RequestScreen,
};

type OwnScreenName = Exclude<ScreenName, ListScreenName>;

interface ShellProps {
  /** The result of the last action. */
  readonly said: string | undefined;
  readonly onRead: () => void;
  readonly onSignOut: () => void;
}

export function Shell({ said, onRead, onSignOut }: ShellProps) {
  const { identity, isOperator } = useSession();
  const offered = screens.filter(({ isForOperators }) => isOperator || !isForOperators);
  const [first] = offered;
  const fragment = useFragment();
  const route = fragment === '' && first ? parseRoute(first.name) : parseRoute(fragment);
  // A screen keeps its state while its filters change, and begins anew for another host or device.
  const at = route && addressOf(route.screen, route.id);

  useEffect(() => {
    if (fragment !== '') document.querySelector('h1')?.focus();
  }, [at]);

  return (
    <>
      <header class="top">
        <button type="button" class="skip" onClick={skip}>
          Skip to the content
        </button>
        <strong>Accelerators</strong>
        <Search />
        <div class="who">
          <span title={`${identity.user.name} in ${identity.project.name}`}>
            {identity.user.name} <span class="wide">in {identity.project.name}</span>
          </span>
          <ThemeChoice />
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
        </div>
      </header>
      <nav class="screens" aria-label="Screens">
        <ul>
          {offered.map(({ name, title }) => (
            <li key={name}>
              <a href={addressOf(name)} aria-current={isWithin(route, name) ? 'page' : undefined}>
                {title}
                {name === 'incidents' && <IncidentCount />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="content" tabIndex={-1}>
        <OutageBanner />
        <Said said={said} onRead={onRead} />
        <Content key={at ?? 'none'} route={route} />
      </main>
    </>
  );
}

/** Long enough to read a sentence twice. */
const saidMs = 10_000;

/** It leaves by itself, but not while the pointer or the focus is on it. */
function Said({ said, onRead }: Pick<ShellProps, 'said' | 'onRead'>) {
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (said === undefined || isHeld) return undefined;
    const timer = setTimeout(onRead, saidMs);
    return () => clearTimeout(timer);
  }, [said, isHeld]);
  return (
    <div
      class="said"
      role="status"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocusCapture={() => setHeld(true)}
      onBlurCapture={() => setHeld(false)}
    >
      {said !== undefined && (
        <>
          <p>{said}</p>
          <button
            type="button"
            onClick={() => {
              setHeld(false);
              onRead();
            }}
          >
            Dismiss
          </button>
        </>
      )}
    </div>
  );
}

function Content({ route }: { readonly route: Route | undefined }) {
  const { isOperator } = useSession();
  if (!route) {
    return (
      <Screen title="Not found">
        <p>No screen has this address. Choose one of the screens above.</p>
      </Screen>
    );
  }
  const isForOperators =
    route.screen === 'devices' ||
    screens.some(({ name, isForOperators }) => name === route.screen && isForOperators);
  if (isForOperators && !isOperator) {
    return (
      <Screen title="Not allowed">
        <Notice tone="warning">
          Your roles in this project may not list hosts. Sign in with a role that may, or ask for
          it.
        </Notice>
      </Screen>
    );
  }
  const Component = (route.id === undefined ? components : pages)[route.screen];
  if (Component) return <Component route={route} />;
  return <ListScreen name={route.screen as ListScreenName} route={route} />;
}

function isWithin(route: Route | undefined, name: ScreenName): boolean {
  const within = { devices: 'hosts', servers: 'requests' } as const;
  return route?.screen === name || within[route?.screen as keyof typeof within] === name;
}

/** Not a link: the fragment of the page's address has the screen. */
function skip() {
  document.querySelector<HTMLElement>('#content')?.focus();
}

function useFragment(): string {
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setFragment(location.hash);
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return fragment.replace(/^#\/?$/, '');
}
