// SPDX-License-Identifier: Apache-2.0
// A Java VM for the tests: 5,000 objects that are held, 300 that are not, and then nothing happens until it is ended.
import java.util.ArrayList;
import java.util.List;

public class Held {
	static class Thing {
		final int number;
		final Thing next;

		Thing(int number, Thing next) {
			this.number = number;
			this.next = next;
		}
	}

	static final List<int[]> arrays = new ArrayList<>();
	static Thing first;

	static class Garbage {
		int number;
	}

	public static void main(String[] args) throws InterruptedException {
		for (int i = 0; i < 5000; i++) {
			first = new Thing(i, first);
			arrays.add(new int[i % 50]);
		}
		for (int i = 0; i < 300; i++)
			new Garbage().number = i;
		System.out.println("ready");
		while (true)
			Thread.sleep(60000);
	}
}
