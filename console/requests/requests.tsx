import { Screen } from '../parts/screen.tsx';

export function RequestsScreen() {
  return <Screen title="Requests">Later.</Screen>;
}
