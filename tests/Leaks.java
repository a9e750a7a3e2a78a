// SPDX-License-Identifier: Apache-2.0
// Keeps 1,000 objects more with each line that it reads, and makes garbage, so that a collector has to move what stays.

import java.util.ArrayList;
import java.util.List;

public class Leaks {
	static class Kept {
		final int number;
		final String name;

		Kept(int number) {
			this.number = number;
			this.name = "kept " + number;
		}
	}

	static class Fixed {
		final int number;

		Fixed(int number) {
			this.number = number;
		}
	}

	static final List<Object> fixed = new ArrayList<>(), kept = new ArrayList<>();
	static Object garbage;

	public static void main(String[] arguments) throws Exception {
		for (int i = 0; i < 3000; i++) {
			garbage = new byte[i % 500];
			fixed.add(new Fixed(i));
		}
		int number = 0;
		do {
			for (int i = 0; i < 20000; i++)
				garbage = new byte[1000];
			System.out.println("ready");
			if (System.in.read() != '\n')
				return;
			for (int end = number + 1000; number < end; number++) {
				garbage = new int[number % 100];
				kept.add(new Kept(number));
			}
			Runnable lambda = () -> kept.size();
			kept.add(lambda);
		} while (true);
	}
}
