package learn

import (
	"math"
	"math/rand/v2"
)

// kMeans returns the centers of k clusters of points with the least sum of squared distances over some starts, and the cluster of
// each point. It returns nil if there are fewer than k different points.
//
// Sources: S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982; D. Arthur and
// S. Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007.
func kMeans(points [][]float64, k int, random *rand.PCG) (centers [][]float64, assigned []int) {
	const starts = 8
	least := math.Inf(1)
	for range starts {
		c := seedCenters(points, k, random)
		if c == nil {
			return nil, nil
		}
		a, sum := lloyd(points, c)
		if sum < least {
			centers, assigned, least = c, a, sum
		}
	}
	return centers, assigned
}

// seedCenters chooses k points, each with a probability proportional to the squared distance to those before.
func seedCenters(points [][]float64, k int, random *rand.PCG) [][]float64 {
	centers := [][]float64{append([]float64(nil), points[int(uniform(random)*float64(len(points)))]...)}
	distances := make([]float64, len(points))
	for len(centers) < k {
		total := 0.0
		for i, p := range points {
			_, distances[i] = nearest(p, centers)
			total += distances[i]
		}
		if total == 0 {
			return nil
		}
		chosen, rest := -1, uniform(random)*total
		for i, d := range distances {
			if d > 0 {
				chosen = i
			}
			if rest -= d; rest < 0 {
				break
			}
		}
		centers = append(centers, append([]float64(nil), points[chosen]...))
	}
	return centers
}

// lloyd moves the centers until no point changes its cluster.
func lloyd(points, centers [][]float64) (assigned []int, sum float64) {
	const rounds = 100
	assigned = make([]int, len(points))
	counts := make([]int, len(centers))
	for round := range rounds {
		changed := round == 0
		sum = 0
		for i, p := range points {
			k, d := nearest(p, centers)
			changed = changed || k != assigned[i]
			assigned[i] = k
			sum += d
		}
		if !changed {
			break
		}
		clear(counts)
		for i, p := range points {
			c := centers[assigned[i]]
			if counts[assigned[i]]++; counts[assigned[i]] == 1 {
				clear(c)
			}
			for j, v := range p {
				c[j] += (v - c[j]) / float64(counts[assigned[i]])
			}
		}
	}
	return assigned, sum
}

// nearest returns the index of the center with the least distance to p, and its square.
func nearest(p []float64, centers [][]float64) (index int, least float64) {
	least = math.Inf(1)
	for k, c := range centers {
		if d := squaredDistance(p, c); d < least {
			index, least = k, d
		}
	}
	return index, least
}

func squaredDistance(p, c []float64) (sum float64) {
	for j, v := range p {
		sum += (v - c[j]) * (v - c[j])
	}
	return sum
}

// silhouette returns how well clusters are apart, from -1 to 1: the mean over the points of (b-a)/max(a, b), where a is the
// mean distance to the points of the own cluster and b to those of the nearest other one. Source: P. J. Rousseeuw, "Silhouettes:
// a graphical aid to the interpretation and validation of cluster analysis", 1987.
func silhouette(points [][]float64, assigned []int, k int) float64 {
	counts := make([]float64, k)
	for _, c := range assigned {
		counts[c]++
	}
	total := 0.0
	distances := make([]float64, k)
	for i, p := range points {
		clear(distances)
		for j, q := range points {
			distances[assigned[j]] += math.Sqrt(squaredDistance(p, q))
		}
		own := assigned[i]
		if counts[own] < 2 {
			continue // counts 0
		}
		a, b := distances[own]/(counts[own]-1), math.Inf(1)
		for c, d := range distances {
			if c != own && counts[c] > 0 {
				b = min(b, d/counts[c])
			}
		}
		if m := max(a, b); m > 0 && !math.IsInf(b, 1) {
			total += (b - a) / m
		}
	}
	return total / float64(len(points))
}
